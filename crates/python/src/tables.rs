//! Measured tables as Arrow tables, handed over without copying.

use crate::errors::SimulationError;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, StructArray, UInt64Array,
};
use arrow_schema::{Field, Schema};
use fairwind_measure::Values;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};
use std::sync::Arc;

/// A table that speaks the Arrow C stream interface.
#[pyclass(frozen, module = "fairwind._core")]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Tables by their names.
    pub(crate) fn by_name<'py, 't>(
        py: Python<'py>,
        tables: impl IntoIterator<Item = &'t fairwind_measure::Table>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let by_name = PyDict::new(py);
        for table in tables {
            by_name.set_item(table.name, Self::from_measured(table)?)?;
        }
        Ok(by_name)
    }

    pub(crate) fn from_measured(table: &fairwind_measure::Table) -> PyResult<Self> {
        let arrays: Vec<(String, ArrayRef)> = table
            .columns
            .iter()
            .map(|column| (column.name.clone(), array(&column.values)))
            .collect();
        let fields: Vec<Field> = arrays
            .iter()
            .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let arrays = arrays.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| SimulationError::new_err(format!("table {}: {error}", table.name)))?;
        Ok(Self { batch })
    }
}

#[pymethods]
impl Table {
    /// The table as a stream of Arrow record batches.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let rows: ArrayRef = Arc::new(StructArray::from(self.batch.clone()));
        let field = Field::new_struct("", self.batch.schema().fields().clone(), false);
        let stream = ArrayIterator::new(std::iter::once(Ok(rows)), Arc::new(field));
        Ok(to_stream_pycapsule(py, Box::new(stream), requested_schema)?)
    }
}

fn array(values: &Values) -> ArrayRef {
    match values {
        Values::U64(numbers) => Arc::new(UInt64Array::from(numbers.clone())),
        Values::OptionalU64(numbers) => Arc::new(UInt64Array::from(numbers.clone())),
        Values::F64(numbers) => Arc::new(Float64Array::from(numbers.clone())),
        Values::OptionalF64(numbers) => Arc::new(Float64Array::from(numbers.clone())),
        Values::Text(texts) => Arc::new(StringArray::from_iter_values(texts.iter())),
        Values::Bool(truths) => Arc::new(BooleanArray::from(truths.clone())),
        Values::OptionalBool(truths) => Arc::new(BooleanArray::from(truths.clone())),
    }
}
