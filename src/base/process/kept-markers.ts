import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Markers of processes that no row knows of. Each is the name of an empty file, so that the next daemon finds what this one
 * leaves behind when it is killed.
 */
export class KeptMarkers {
  readonly #dir: string

  constructor(directory: string) {
    this.#dir = directory
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
