import type { Rules } from '../../call.ts'
import { ANY_FLAG_RULES } from './any-flags.ts'
import { BYTES } from './bytes.ts'
import { COMPARERS } from './compare.ts'
import { DATA } from './data.ts'
import { MACHINE } from './machine.ts'
import { PAGERS } from './pagers.ts'
import { PRINTERS } from './print.ts'
import { SEARCHERS } from './search.ts'

/** Programs that look at things and print: LOW with the flags that are known to do no more. */
export const READERS: Rules = {
  ...ANY_FLAG_RULES,
  ...PRINTERS,
  ...SEARCHERS,
  ...COMPARERS,
  ...PAGERS,
  ...DATA,
  ...BYTES,
  ...MACHINE,
}
