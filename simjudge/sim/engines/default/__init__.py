"""The engine that needs nothing but pip: MuJoCo moves the bodies, Mitsuba traces the rays of light."""
