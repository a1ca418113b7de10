"""What is done with a plan before it runs: rewrite rules, what reading costs, and what it will take."""
