"""What a camera does to light: named filters on images, and data sets seen through them."""

import simjudge.sensors.camera.isp  # noqa: F401 - its filters join those of `filters`
