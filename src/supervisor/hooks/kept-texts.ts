import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { readRegularFileNow } from '../../base/files.ts'

/**
 * What is kept, in folders of `run`: the project of a conversation, how far its record was read, the task that was named, and calls
 * that run. What was said in a conversation is in another `hook-sessions`, that of `data` (session-notes.ts).
 */
export const KEPT_FOLDERS = ['hook-sessions', 'hook-usage', 'hook-tasks', 'hook-calls'] as const

const LONGEST = 5_000

/**
 * Short texts about conversations and their calls, each in a file of its own: every hook may be a process of its own. What cannot be
 * written is not kept, and whoever reads it then knows nothing. The daemon removes what is old.
 */
export class KeptTexts {
  readonly #dir: string

  constructor({ run }: Pick<AppPaths, 'run'>, kind: (typeof KEPT_FOLDERS)[number]) {
    this.#dir = join(run, kind)
  }

  read(key: string): string | undefined {
    return readRegularFileNow(this.#fileOf(key), LONGEST)?.toString()
  }

  /** With `once`, a text that is there stays: of two hooks at once the first wins. */
  keep(key: string, text: string, { once = false } = {}): void {
    try {
      mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
      if (!once) rmSync(this.#fileOf(key), { force: true })
      writeFileSync(this.#fileOf(key), text, { mode: 0o600, flag: 'wx' })
    } catch {
      // It is there already, or the disk is full.
    }
  }

  /** Reads a text and removes it. */
  take(key: string): string | undefined {
    const text = this.read(key)
    if (text !== undefined) rmSync(this.#fileOf(key), { force: true })
    return text
  }

  /** Removes all if there are more than so many: of calls that never ended. */
  limit(most: number): void {
    try {
      const names = readdirSync(this.#dir)
      if (names.length > most) for (const name of names) rmSync(join(this.#dir, name), { force: true })
    } catch {
      // There are none.
    }
  }

  /** Vendors choose their ids, so none is used as the name of a file. */
  #fileOf(key: string): string {
    return join(this.#dir, createHash('sha256').update(key).digest('hex').slice(0, 32))
  }
}
