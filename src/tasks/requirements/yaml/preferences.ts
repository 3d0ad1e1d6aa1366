import { isMap, isScalar, isSeq } from 'yaml'
import type { Preference } from '../../../domain/brain/requirements.ts'
import { keyValue } from '../key-value.ts'
import { preferenceIn } from '../ruled-out.ts'
import { type Field, fieldsOf, isNothing, itemsOf, type Sheet, textIn } from './fields.ts'

/** More is no preference, and an anchor that holds itself has no end. */
const MAX_DEPTH = 6

/** The map of preferences; one inside another lends its name: `backend: { database: X }` is "backend database". */
export function preferencesIn(field: Field, sheet: Sheet, above: string[] = []): Preference[] {
  const { value, path, line } = field
  if (isNothing(value) && above.length === 0) return []
  if (above.length > MAX_DEPTH) {
    sheet.problems.push({ line, field: path, problem: `it is nested more than ${MAX_DEPTH} deep` })
    return []
  }
  if (isMap(value)) {
    return fieldsOf(value, path, sheet).flatMap(inner => preferencesIn(inner, sheet, [...above, inner.key]))
  }
  if (isSeq(value)) return listed(field, sheet, above)
  const said = saidIn(field, sheet)
  if (said === undefined) return []
  return [preferenceIn(above.length > 0 ? { key: above.join(' '), value: said } : keyValue(said))]
}

/** Under a name a list is one preference; at the top each item is one. */
function listed(field: Field, sheet: Sheet, above: string[]): Preference[] {
  const items = itemsOf(field, sheet)
  if (above.length === 0 || items.some(({ value }) => isMap(value) || isSeq(value))) {
    return items.flatMap(item =>
      isSeq(item.value) ? listed(item, sheet, [...above, '']) : preferencesIn(item, sheet, above),
    )
  }
  const values = items.flatMap(item => saidIn(item, sheet) ?? [])
  return values.length === 0 ? [] : [preferenceIn({ key: above.join(' ').trim(), value: values.join(', ') })]
}

/** A switch that is on or off is the answer to a yes-or-no question. */
function saidIn(field: Field, sheet: Sheet): string | undefined {
  const { value } = field
  if (isScalar(value) && typeof value.value === 'boolean') return value.value ? 'yes' : 'no'
  return textIn(field, sheet)
}
