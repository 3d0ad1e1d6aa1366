import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { replaceFile } from '../../base/files.ts'
import { isFinal } from '../../domain/session-end.ts'
import type { SessionRow } from '../../store/tables.ts'

const Environment = z.record(z.string(), z.string())

/**
 * The environments with which the agents of open sessions were started. Without its environment a session that waits for a
 * limit could not go on by itself. An environment may hold a key, so on disk it is a file that only its owner can read, never
 * a row; it is removed when the session is over (docs/adr/0011). Without `sessions.keep_environment` there is no file, and
 * only this daemon process knows the environment.
 */
export class KeptEnvironments {
  readonly #dir: string
  readonly #inMemory = new Map<string, Record<string, string>>()

  constructor(runDir: string) {
    // The policy protects the directory by this name, wherever PCC_HOME points to.
    this.#dir = join(runDir, 'secrets')
  }

  keep(session: string, env: Record<string, string>, { onDisk }: { onDisk: boolean }): void {
    this.#inMemory.set(session, env)
    if (onDisk) replaceFile(this.#file(session), JSON.stringify(env), 0o600)
    else rmSync(this.#file(session), { force: true })
  }

  /** The environment of a session; undefined if none was kept, or if its file cannot be read any more. */
  of(session: string): Record<string, string> | undefined {
    const inMemory = this.#inMemory.get(session)
    if (inMemory) return inMemory
    try {
      return Environment.parse(JSON.parse(readFileSync(this.#file(session), 'utf8')))
    } catch {
      return undefined
    }
  }

  forget(session: string): void {
    this.#inMemory.delete(session)
    rmSync(this.#file(session), { force: true })
  }

  /**
   * Forgets the environments that an earlier life of the daemon left for sessions that are over or unknown; open runs keep
   * theirs.
   */
  forgetOver(sessions: Pick<SessionRow, 'id' | 'state' | 'ended_as'>[], runs: ReadonlySet<string> = new Set()): void {
    const open = sessions.filter(({ state, ended_as }) => state !== 'ended' || !isFinal(ended_as))
    const wanted = new Set([...open.map(({ id }) => id), ...runs].map(id => `${id}.json`))
    for (const file of existsSync(this.#dir) ? readdirSync(this.#dir) : []) {
      if (!wanted.has(file)) rmSync(join(this.#dir, file), { force: true })
    }
  }

  #file(session: string): string {
    return join(this.#dir, `${session}.json`)
  }
}
