import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { tmuxSocket } from '../../agents/tmux/tmux.ts'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import type { SessionView } from '../../domain/api.ts'
import type { Client } from '../connection/client.ts'
import type { CommandContext } from '../context.ts'
import { isOver, statusWords } from '../render/format.ts'

/** Puts the person into the terminal of an agent until they leave it. Nothing where the session is over before it has one. */
export async function enterTerminal(
  session: SessionView,
  { paths, env, note }: CommandContext,
  client: Client,
): Promise<number | undefined> {
  if (findProgram('tmux', env) === undefined) throw new AppError('tmux_missing', {})
  const socket = tmuxSocket(paths.socket)
  const { id } = session
  if (!(await awaitWindow(session, { client, socket, env, tell: note }))) return undefined
  const { TMUX, ...outside } = env
  // Within the same server one changes windows; within another one's tmux, ours is shown inside it.
  const how = TMUX?.split(',')[0] === socket ? 'switch-client' : 'attach-session'
  const child = spawn('tmux', ['-u', '-S', socket, how, '-t', `=${id}`], {
    stdio: 'inherit',
    env: how === 'switch-client' ? env : outside,
  })
  // Ctrl+C is a key of the terminal that is shown.
  const wait = () => undefined
  process.on('SIGINT', wait)
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return code ?? 130
  } finally {
    process.off('SIGINT', wait)
  }
}

const LOOK_MS = 200

export interface AwaitWindowOptions {
  client: Client
  socket: string
  env: Record<string, string | undefined>
  /** What it waits for, told once, and only where it has to wait. */
  tell(line: string): void
}

/** Whether a session has a terminal that can be entered: one that only just starts, or waits in line, has none yet. */
async function awaitWindow({ id }: SessionView, { client, socket, env, tell }: AwaitWindowOptions): Promise<boolean> {
  for (let looks = 0; ; looks++) {
    if (await hasWindow(id, { socket, env })) return true
    const session = await client.request<SessionView>('GET', `/sessions/${id}`)
    if (isOver(session)) return false
    if (looks === 1) tell(`${statusWords(session).text}: the terminal of ${id} opens when its agent starts …`)
    await sleep(LOOK_MS)
  }
}

async function hasWindow(id: string, { socket, env }: Pick<AwaitWindowOptions, 'socket' | 'env'>): Promise<boolean> {
  try {
    await promisify(execFile)('tmux', ['-S', socket, '-f', '/dev/null', 'has-session', '-t', `=${id}`], { env })
    return true
  } catch {
    return false // no such window, or no server yet
  }
}
