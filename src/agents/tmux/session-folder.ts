import { createHash, timingSafeEqual } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { secretId } from '../../base/ids.ts'

/** What `pcc hook` needs to find its way: it is given the folder, and nothing of it stands in a command line or an environment. */
const HookAddress = z.object({
  session: z.string(),
  /** Opens the daemon's route for the hooks of this session, and no other. */
  token: z.string().min(32),
  socket: z.string(),
  /** How long a call waits for a daemon that is away before it is refused. */
  away_ms: z.number(),
})
type HookAddress = z.infer<typeof HookAddress>

/** Where the window is and how far its transcript was read: what the next daemon needs to go on with it. */
const TmuxSessionState = z.object({
  pane: z.string(),
  pid: z.number(),
  /** So that another process with the same number is not taken for it. */
  born: z.string(),
  vendorId: z.string(),
  /** Claude Code's own folder, where its state files are. */
  config: z.string(),
  marker: z.string(),
  model: z.string().default(''),
  version: z.string().optional(),
  transcript: z.string().optional(),
  offset: z.number().default(0),
  /** The same for the records of subagents. */
  subagents: z.record(z.string(), z.number()).optional(),
  takenOver: z.boolean().default(false),
  /** A turn was begun whose end nobody has told yet. */
  working: z.boolean().default(false),
  /** A prompt was given that the agent has not taken yet. */
  owed: z.boolean().default(false),
  /** Calls that were allowed and whose result was not read yet. */
  allowed: z.array(z.string()).default([]),
})
export type TmuxSessionState = z.infer<typeof TmuxSessionState>

/** The folder of one session in tmux, readable by its owner alone. */
export class TmuxSessionFolder {
  readonly path: string

  constructor(run: string, session: string) {
    this.path = join(run, 'tmux', session)
  }

  /** Made anew for a window: whatever an earlier one left is gone. */
  make({ session, socket, awayMs }: { session: string; socket: string; awayMs: number }): HookAddress {
    this.remove()
    mkdirSync(this.path, { recursive: true, mode: 0o700 })
    const seat = { session, token: secretId(), socket, away_ms: awayMs }
    this.write('seat.json', JSON.stringify(seat))
    return seat
  }

  seat(): HookAddress | undefined {
    return this.#read('seat.json', HookAddress)
  }

  whereabouts(): TmuxSessionState | undefined {
    return this.#read('window.json', TmuxSessionState)
  }

  keep(whereabouts: TmuxSessionState): void {
    this.write('window.json', JSON.stringify(whereabouts))
  }

  /** Calls that were refused while no daemon was there, as their hooks noted them; they are told once. */
  takeRefused(): number {
    const file = join(this.path, 'refused')
    try {
      const lines = readFileSync(file, 'utf8').split('\n').length - 1
      rmSync(file, { force: true })
      return lines
    } catch {
      return 0 // nothing was refused
    }
  }

  /** What the agent complained about, for a message. */
  lastWords(): string {
    try {
      return readFileSync(join(this.path, 'stderr'), 'utf8').trim().slice(-500)
    } catch {
      return '' // nothing
    }
  }

  /** Written aside and renamed: a reader sees the old text or the new one. */
  write(name: string, text: string): string {
    const file = join(this.path, name)
    writeFileSync(`${file}.new`, text, { mode: 0o600 })
    renameSync(`${file}.new`, file)
    return file
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }

  #read<T>(name: string, shape: z.ZodType<T>): T | undefined {
    try {
      return shape.safeParse(JSON.parse(readFileSync(join(this.path, name), 'utf8'))).data
    } catch {
      return undefined // there is none, or it is no use
    }
  }
}

/** What a hook of the agent may say back; nothing means that it has no opinion. */
export type HookReply = Record<string, unknown> | undefined

export interface HookCall {
  event: string
  input: unknown
  /** Aborted when the hook itself is gone. */
  signal: AbortSignal
}

export interface HookListener {
  token: string
  take(call: HookCall): Promise<HookReply>
}

/** Who of the agents outside of this process may call, and who listens to each. The daemon's route and the driver meet here. */
export class HookRegistry {
  readonly #seats = new Map<string, HookListener>()

  open(session: string, seat: HookListener): Disposable {
    this.#seats.set(session, seat)
    return {
      [Symbol.dispose]: () => {
        if (this.#seats.get(session) === seat) this.#seats.delete(session)
      },
    }
  }

  /** The one who listens; undefined for an unknown session and for a wrong token alike. */
  seatOf(session: string, token: string): HookListener | undefined {
    const seat = this.#seats.get(session)
    return seat && timingSafeEqual(digest(seat.token), digest(token)) ? seat : undefined
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
