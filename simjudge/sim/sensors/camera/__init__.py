"""What a camera does to light: named filters on images, and data sets seen through them."""
