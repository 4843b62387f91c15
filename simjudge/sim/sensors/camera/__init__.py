"""What a camera does to light: named filters on images, and data sets seen through them."""

import simjudge.sim.sensors.camera.adaptation
import simjudge.sim.sensors.camera.filters
import simjudge.sim.sensors.camera.isp  # noqa: F401 - their filters join those of `filters`
