"""The passes over whole plans of frames, in their order: each is made once, when no rule fits any more."""

from __future__ import annotations

from glassloom.dataframe.backend import move_to_host
from glassloom.dataframe.filters_by_results import filter_by_results_while_reading
from glassloom.dataframe.first_rows_by_key import find_first_rows_by_key
from glassloom.dataframe.grouping.before_joins import aggregate_before_joins
from glassloom.dataframe.grouping.groups_in_order import keep_groups_in_order, keep_shown_groups_in_order
from glassloom.dataframe.joined_reads import read_results_together, read_several_partitions
from glassloom.dataframe.moving.distinct_in_pieces import reduce_distinct_rows_in_pieces
from glassloom.dataframe.moving.dropped_moves import drop_moves
from glassloom.dataframe.moving.filters_before_joins import filter_before_joining
from glassloom.dataframe.moving.filters_first import filter_before_moving, filter_results_before_moving
from glassloom.dataframe.moving.narrowing import move_needed_columns
from glassloom.dataframe.moving.reductions_before_concat import reduce_before_concat
from glassloom.dataframe.plan import filter_while_reading, read_once
from glassloom.dataframe.reductions_together import reduce_columns_together
from glassloom.expr import whole_plan, whole_results

whole_plan(move_to_host)
whole_plan(drop_moves)
whole_plan(move_needed_columns)  # before filters move: whether they do depends on which columns of joins are needed
whole_plan(filter_before_joining)
whole_plan(filter_before_moving)
whole_plan(reduce_before_concat)
whole_plan(filter_while_reading)
whole_plan(filter_by_results_while_reading)
whole_plan(find_first_rows_by_key)
whole_plan(read_once)
whole_plan(aggregate_before_joins)
whole_plan(read_several_partitions)
whole_plan(reduce_distinct_rows_in_pieces)
whole_plan(keep_groups_in_order)
whole_plan(reduce_columns_together)
whole_results(filter_results_before_moving)
whole_results(read_results_together)
whole_results(keep_shown_groups_in_order)
