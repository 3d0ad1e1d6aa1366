import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { replaceFile } from '../../base/files.ts'
import type { EndedAs } from '../../domain/api.ts'
import type { SessionRow } from '../../store/tables.ts'

const Environment = z.record(z.string(), z.string())

/**
 * What the agent of a session that is not over yet was started with. Without it a session that waits for a limit could not
 * go on by itself. It may hold a key, so on disk it is a file of its own that only its owner can read, never a row; it goes
 * when the session is over (docs/adr/0011). Where the file is not wanted it is known to this life of the daemon alone.
 */
export class KeptEnvironments {
  readonly #dir: string
  readonly #inMemory = new Map<string, Record<string, string>>()

  constructor(runDir: string) {
    // By this name the policy knows it wherever PCC_HOME points to.
    this.#dir = join(runDir, 'secrets')
  }

  keep(session: string, env: Record<string, string>, { onDisk }: { onDisk: boolean }): void {
    this.#inMemory.set(session, env)
    if (onDisk) replaceFile(this.#file(session), JSON.stringify(env), 0o600)
    else rmSync(this.#file(session), { force: true })
  }

  /** Undefined where nothing was kept, or what was kept cannot be read any more. */
  of(session: string): Record<string, string> | undefined {
    const known = this.#inMemory.get(session)
    if (known) return known
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

  /** Forgets what an earlier life of the daemon left for sessions that are over, or that nobody knows; open runs keep theirs. */
  forgetOver(sessions: Pick<SessionRow, 'id' | 'state' | 'ended_as'>[], runs: ReadonlySet<string> = new Set()): void {
    const open = sessions.filter(({ state, ended_as }) => state !== 'ended' || !isOver(ended_as))
    const wanted = new Set([...open.map(({ id }) => id), ...runs].map(id => `${id}.json`))
    for (const file of existsSync(this.#dir) ? readdirSync(this.#dir) : []) {
      if (!wanted.has(file)) rmSync(join(this.#dir, file), { force: true })
    }
  }

  #file(session: string): string {
    return join(this.#dir, `${session}.json`)
  }
}

/** A person who takes such a session up again brings an environment along. */
export function isOver(as: EndedAs | null): boolean {
  return as === 'completed' || as === 'stopped' || as === 'error'
}
