"""Turns kernels into LLVM's language: only the steps that kernels need, and fewer instructions.

Numba's own steps also look for closures, `with`, generators and lists that are unrolled, which no
kernel has, and for expressions of whole arrays, which kernels write as loops. What it writes for
an index, for a loop over a range and for each variable that goes out of use is right for all
types; for arrays of numbers a fraction of that does the same. Each instruction costs time at
every later stage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir as llvm
from numba.core import ir, types
from numba.core.compiler import CompilerBase
from numba.core.lowering import Lower
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.types.containers import BaseTuple
from numba.core.types.iterators import RangeIteratorType, RangeType
from numba.core.types.misc import unliteral
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    ReconstructSSA,
    RewriteDynamicRaises,
    TranslateByteCode,
)
from numba.np.arrayobj import load_item, store_item

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBERS = types.Number, types.Boolean


class Pipeline(CompilerBase):  # type: ignore[misc]  # numba has no types
    """Compiles a kernel or a helper."""

    def define_pipelines(self) -> list[Any]:
        """Return the one way in which that is done."""
        return [_Passes()]


class _Passes:
    """Goes through the steps; numba's own manager also checks and times each."""

    pipeline_name = "kernels"

    def __init__(self) -> None:
        self.exec_times: dict[str, Any] = {}

    @staticmethod
    def run(state: Any) -> None:
        """Take every step."""
        for step in (
            TranslateByteCode,
            FixupArgs,
            GenericRewrites,
            RewriteDynamicRaises,
            ReconstructSSA,
            NopythonTypeInference,
            PreLowerStripPhis,
            IRLegalization,
            _Lowering,
            NoPythonBackend,
        ):
            step().run_pass(state)


class _Lowering(NativeLowering):  # type: ignore[misc]  # numba has no types
    """Writes LLVM's language as `_Lower` does."""

    @property
    def lowering_class(self) -> type[Lower]:
        """What writes it."""
        return _Lower

    def run_pass(self, state: Any) -> bool:
        """Count no uses of arrays where all belong to the caller."""
        if not _owns(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        done: bool = super().run_pass(state)
        return done


def _owns(state: Any) -> bool:
    """Return whether a function makes, is handed or returns anything that is to be freed."""
    models = state.targetctx.data_model_manager

    def is_freed(name: str) -> bool:
        return bool(models[state.typemap[name]].contains_nrt_meminfo())

    def borrows(value: Any) -> bool:
        if value.op == "getitem":
            return not is_freed(value.index.name)  # by an array of places it copies
        return value.op in BORROWING

    return models[state.return_type].contains_nrt_meminfo() or any(
        isinstance(each, (ir.DynamicRaise, ir.DynamicTryRaise))
        or (
            isinstance(each, ir.Assign)
            and isinstance(each.value, ir.Expr)
            and not borrows(each.value)
            and is_freed(each.target.name)
        )
        for block in state.func_ir.blocks.values()
        for each in block.body
    )


BORROWING = {"build_tuple", "cast", "exhaust_iter", "getattr", "static_getitem"}
"""What makes of arrays parts of them, or tuples, that live as long as the arrays do."""


class _Lower(Lower):  # type: ignore[misc]  # numba has no types
    """Writes LLVM's language: shorter where arrays of numbers and ranges are used."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._freed: dict[types.Type, bool] = {}

    def _is_freed(self, kind: types.Type) -> bool:
        """Return whether something is counted in a variable of this type."""
        if kind not in self._freed:
            model = self.context.data_model_manager[kind]
            self._freed[kind] = self.context.enable_nrt and model.contains_nrt_meminfo()
        return self._freed[kind]

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a value; there is no old one to be freed where nothing is counted."""
        if argidx is not None or self._disable_sroa_like_opt or self._is_freed(self.typeof(name)):
            super().storevar(value, name, argidx)
            return
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Do nothing at the end of a variable's life where nothing is counted."""
        if self._disable_sroa_like_opt or self._is_freed(self.typeof(name)):
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def lower_getitem(
        self, resty: types.Type, expr: Any, value: Any, index: Any, signature: Any
    ) -> Any:
        """Load a number from an array; all else as numba does."""
        place = self._place(value, index)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        kind = self.typeof(value.name)
        item = load_item(self.context, self.builder, kind, place)
        return self.context.cast(self.builder, item, kind.dtype, resty)

    def lower_setitem(
        self, target_var: Any, index_var: Any, value_var: Any, signature: Any
    ) -> Any:
        """Store a number in an array; all else as numba does."""
        given = self.typeof(value_var.name)
        place = self._place(target_var, index_var) if isinstance(given, NUMBERS) else None
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind = self.typeof(target_var.name)
        item = self.context.cast(
            self.builder, self.loadvar(value_var.name), given, signature.args[2]
        )
        item = self.context.cast(self.builder, item, signature.args[2], kind.dtype)
        return store_item(self.context, self.builder, kind, item, place)

    def _place(self, array: Any, index: Any) -> Any:
        """Return where the item of an array is; None if it is not a number found by numbers."""
        kind, by = self.typeof(array.name), self.typeof(index.name)
        kinds = tuple(by) if isinstance(by, BaseTuple) else (by,)
        if (
            not isinstance(kind, types.Array)
            or kind.layout != "C"
            or not isinstance(kind.dtype, NUMBERS)
            or len(kinds) != kind.ndim
            or not all(isinstance(each, types.Integer) for each in kinds)
            or self.context.enable_boundscheck
        ):
            return None
        held, builder = self.loadvar(array.name), self.builder
        position = self.context.data_model_manager[kind].get_field_position
        value = self.loadvar(index.name)
        spot = None
        for axis, each in enumerate(kinds):
            at = _part(builder, value, axis) if isinstance(by, BaseTuple) else value
            at = self.context.cast(
                builder, at, unliteral(each), types.intp if each.signed else types.uintp
            )
            backwards = each.signed and not (isinstance(at, llvm.Constant) and at.constant >= 0)
            if backwards or spot is not None:
                size = builder.extract_value(held, [position("shape"), axis])
            if backwards:
                negative = builder.icmp_signed("<", at, at.type(0))
                at = builder.select(negative, builder.add(at, size), at)
            spot = at if spot is None else builder.add(builder.mul(spot, size), at)
        return builder.gep(builder.extract_value(held, position("data")), [spot])

    def lower_expr(self, resty: types.Type, expr: Any) -> Any:
        """Loop over a range of steps of 1; all else as numba does."""
        if expr.op == "call" and isinstance(resty, RangeType) and not expr.kws:
            return self._range(resty, expr) or super().lower_expr(resty, expr)
        if expr.op == "getiter" and isinstance(resty, RangeIteratorType):
            return self._steps(resty, expr) or super().lower_expr(resty, expr)
        if expr.op == "iternext" and isinstance(self.typeof(expr.value.name), RangeIteratorType):
            return self._next(resty, expr)
        if expr.op in {"pair_first", "pair_second"} and not self._is_freed(resty):
            pair = self.loadvar(expr.value.name)
            return _part(self.builder, pair, ("pair_first", "pair_second").index(expr.op))
        return super().lower_expr(resty, expr)

    def _range(self, resty: RangeType, expr: Any) -> Any:
        """Return a range of steps of 1, None for others."""
        name = self.typeof(expr.func.name)
        if getattr(name, "typing_key", None) is not range or len(expr.args) > 2 or expr.vararg:
            return None
        ends = [self._cast_var(each, resty.dtype) for each in expr.args]
        if len(ends) == 1:
            ends.insert(0, ends[0].type(0))
        return self._record(resty, [*ends, ends[0].type(1)])

    def _steps(self, resty: RangeIteratorType, expr: Any) -> Any:
        """Return what counts a range's steps of 1, None for other steps."""
        given, builder = self.loadvar(expr.value.name), self.builder
        start, stop, step = (_part(builder, given, each) for each in range(3))
        if not isinstance(step, llvm.Constant) or step.constant != 1:
            return None
        length = builder.sub(stop, start)
        count = builder.select(
            builder.icmp_signed(">", length, length.type(0)), length, length.type(0)
        )
        places = []
        for each in (start, count):
            places.append(self.alloca_lltype("$step", each.type))
            builder.store(each, places[-1])
        return self._record(resty, [places[0], stop, step, places[1]])

    def _next(self, resty: types.Type, expr: Any) -> Any:
        """Return the next number of a range, and whether there is one."""
        given, builder = self.loadvar(expr.value.name), self.builder
        place, _, step, left = (_part(builder, given, each) for each in range(4))
        count = builder.load(left)
        some = builder.icmp_signed(">", count, count.type(0))
        value = builder.load(place)
        with builder.if_then(some):
            builder.store(builder.sub(count, count.type(1), flags=["nsw"]), left)
            builder.store(builder.add(value, step), place)
        return self._record(resty, [value, some])

    def _record(self, kind: types.Type, parts: Sequence[Any]) -> Any:
        """Return a value of a type that has these parts."""
        value = llvm.Constant(self.context.get_value_type(kind), llvm.Undefined)
        for k, part in enumerate(parts):
            value = self.builder.insert_value(value, part, k)
        return value


def _part(builder: Any, value: Any, k: int) -> Any:
    """Return a part of a value: what was put there, if that is known."""
    known = value
    while isinstance(known, llvm.instructions.InsertValue):
        if known.indices == [k]:
            return known.operands[1]
        if known.indices[0] == k:
            break
        known = known.operands[0]
    return builder.extract_value(value, k)
