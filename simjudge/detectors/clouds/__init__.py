"""What can be seen in a cloud without a network: ground, clusters, cuboids."""
