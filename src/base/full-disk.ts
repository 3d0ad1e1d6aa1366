import { existsSync } from 'node:fs'

/** What is published takes no disk for full that is not. */
const FROM_SOURCE = import.meta.url.endsWith('.ts')

/**
 * Whether the store is to take its disk for full: as long as the file is there that `PCC_FULL_WHILE` names. For machines on
 * which nobody may mount a small one. Undefined where nobody asked for it.
 */
export function fullDisk(): boolean | undefined {
  const file = FROM_SOURCE ? process.env['PCC_FULL_WHILE'] : undefined
  return file === undefined ? undefined : existsSync(file)
}
