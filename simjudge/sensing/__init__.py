"""What a camera does to light: named filters on pictures, and data sets seen through them."""
