import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { parseJson } from '../../base/json.ts'
import { LineOutbox } from '../../base/line-outbox.ts'
import type { CapturedRow } from '../../domain/hook-capture.ts'
import { observedId } from './capture.ts'

/** Rows that are stored at once. */
const BATCH = 50

/** What hooks reported while no daemon was there. */
export class HookOutbox extends LineOutbox {
  constructor({ data }: Pick<AppPaths, 'data'>) {
    super(join(data, 'hook-outbox'))
  }

  /** Stores the next slice. Returns false if nothing is left for now. */
  async replay(store: (rows: CapturedRow[]) => Promise<unknown>): Promise<boolean> {
    const slice = this.next()
    if (!slice) return false
    const rows = await parseRows(slice.lines)
    for (let at = 0; at < rows.length; at += BATCH) await store(rows.slice(at, at + BATCH))
    slice.done()
    return true
  }

  /** The latest of one conversation that nobody has stored yet, as far as a slice goes. */
  async latestOf(subject: string): Promise<CapturedRow[]> {
    return (await parseRows(this.latest())).filter(row => row.subject === subject)
  }
}

/** A line that cannot be read is left out. What checks them is loaded here: a hook only writes. */
async function parseRows(lines: readonly string[]): Promise<CapturedRow[]> {
  const { CapturedRow: Row } = await import('../../domain/hook-capture.ts')
  return lines.flatMap(line => {
    const row = line === '' ? undefined : Row.safeParse(parseJson(line)).data
    return row ? { ...row, at: Math.min(row.at, Date.now()), subject: observedId(row.body) } : []
  })
}
