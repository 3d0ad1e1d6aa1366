import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { replaceFile } from '../../base/files/replace-file.ts'

const Environment = z.record(z.string(), z.string())

/**
 * What the agent of a session that is not over yet was started with. Without it a session that waits for a limit could not
 * go on by itself after a restart. It may hold a key, so it is a file of its own that only its owner can read, never a row,
 * and it goes when the session is over (docs/adr/0011).
 */
export class KeptEnvironments {
  readonly #dir: string

  constructor(runDir: string) {
    this.#dir = join(runDir, 'env')
  }

  keep(session: string, env: Record<string, string>): void {
    replaceFile(this.#file(session), JSON.stringify(env), 0o600)
  }

  /** Undefined where nothing was kept, or what was kept cannot be read any more. */
  of(session: string): Record<string, string> | undefined {
    try {
      return Environment.parse(JSON.parse(readFileSync(this.#file(session), 'utf8')))
    } catch {
      return undefined
    }
  }

  forget(session: string): void {
    rmSync(this.#file(session), { force: true })
  }

  #file(session: string): string {
    return join(this.#dir, `${session}.json`)
  }
}
