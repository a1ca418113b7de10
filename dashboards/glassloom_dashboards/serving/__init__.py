"""The process: which clusters are followed, who may look, and what a viewer is sent."""
