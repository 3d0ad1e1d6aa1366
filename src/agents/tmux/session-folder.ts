import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { readRegularFileNow } from '../../base/files.ts'
import { removeTreeNow } from '../../base/sandbox/home.ts'
import { createEndpoint } from '../own-tools-server.ts'

/** What `pcc hook` needs to reach its session. It gets only the folder, so that none of this is in a command line or an environment. */
const HookAddress = z.object({
  session: z.string(),
  token: z.string().min(32),
  /** The session's own socket. */
  socket: z.string(),
  /** How long a call waits for a daemon that is away before it is refused. */
  away_ms: z.number(),
})
export type HookAddress = z.infer<typeof HookAddress>

/** The window and the position in its transcript: what the next daemon needs to go on. */
const TmuxSessionState = z.object({
  pane: z.string(),
  pid: z.number(),
  /** Start time, so that another process with the same pid is not mistaken for it. */
  born: z.string(),
  vendorId: z.string(),
  /** Claude Code's own folder, where its state files are. */
  config: z.string(),
  /** Whether it runs in a sandbox, where processes have other numbers. */
  sandboxed: z.boolean().default(false),
  marker: z.string(),
  model: z.string().default(''),
  version: z.string().optional(),
  transcript: z.string().optional(),
  offset: z.number().default(0),
  /** Offsets in the records of subagents. */
  subagents: z.record(z.string(), z.number()).optional(),
  takenOver: z.boolean().default(false),
  /** A turn was begun whose end is not reported yet. */
  working: z.boolean().default(false),
  /** A prompt was given that the agent has not taken yet. */
  owed: z.boolean().default(false),
  /** Calls that were allowed and whose result was not read yet. */
  allowed: z.array(z.string()).default([]),
})
export type TmuxSessionState = z.infer<typeof TmuxSessionState>

/** The folder in which hooks count the calls that they refused while no daemon was there. */
export const REFUSALS = 'refusals'

/** The folder of one session in tmux, readable by its owner alone. */
export class TmuxSessionFolder {
  readonly path: string

  constructor(run: string, session: string) {
    this.path = join(run, 'tmux', session)
  }

  /** Where the folders of its sandbox are. */
  get box(): string {
    return join(this.path, 'box')
  }

  /** Creates the folder anew for a window; the files of an earlier one are removed. */
  create({ session, awayMs }: { session: string; awayMs: number }): HookAddress {
    this.remove()
    mkdirSync(join(this.path, REFUSALS), { recursive: true, mode: 0o700 })
    return this.saveAddress({ session, ...createEndpoint(this.path), away_ms: awayMs })
  }

  saveAddress(address: HookAddress): HookAddress {
    this.write('seat.json', JSON.stringify(address))
    return address
  }

  hookAddress(): HookAddress | undefined {
    return this.#read('seat.json', HookAddress)
  }

  state(): TmuxSessionState | undefined {
    return this.#read('window.json', TmuxSessionState)
  }

  saveState(state: TmuxSessionState): void {
    this.write('window.json', JSON.stringify(state))
  }

  /** The number of calls that hooks refused while no daemon was there; the count is reset. */
  takeRefused(): number {
    const file = join(this.path, REFUSALS, 'refused')
    try {
      // The agent writes in this folder, too.
      const lines = (readRegularFileNow(file)?.toString('latin1') ?? '').split('\n').length - 1
      rmSync(file, { force: true })
      return lines
    } catch {
      return 0 // nothing was refused
    }
  }

  /** The end of the agent's stderr, for a message. */
  readStderr(): string {
    try {
      return readFileSync(join(this.path, 'stderr'), 'utf8').trim().slice(-500)
    } catch {
      return '' // nothing
    }
  }

  /** Writes a temporary file and renames it: a reader sees the old text or the new one. */
  write(name: string, text: string): string {
    const file = join(this.path, name)
    writeFileSync(`${file}.new`, text, { mode: 0o600 })
    renameSync(`${file}.new`, file)
    return file
  }

  remove(): void {
    removeTreeNow(this.path) // an agent may have closed its folders to their owner
  }

  #read<T>(name: string, shape: z.ZodType<T>): T | undefined {
    try {
      return shape.safeParse(JSON.parse(readFileSync(join(this.path, name), 'utf8'))).data
    } catch {
      return undefined // missing or unreadable
    }
  }
}
