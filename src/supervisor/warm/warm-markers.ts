import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Markers of processes that were started for a session which has no row yet. Each is the name of an empty file, so that the
 * next daemon finds what this one leaves behind when it is killed; from its row on the session keeps the marker itself.
 */
export class WarmMarkers {
  readonly #dir: string

  constructor(runDir: string) {
    this.#dir = join(runDir, 'warm')
  }

  /** Before the process is started. */
  note(marker: string): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    writeFileSync(join(this.#dir, marker), '', { mode: 0o600 })
  }

  /** When the process is gone, or its marker stands in a row. */
  forget(marker: string): void {
    rmSync(join(this.#dir, marker), { force: true })
  }

  all(): string[] {
    return existsSync(this.#dir) ? readdirSync(this.#dir) : []
  }
}
