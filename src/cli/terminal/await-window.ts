import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { SessionView } from '../../domain/api.ts'
import type { Client } from '../client.ts'
import { isOver, statusWords } from '../render/format.ts'

const LOOK_MS = 200

export interface Awaited {
  client: Client
  socket: string
  env: Record<string, string | undefined>
  /** What it waits for, told once, and only where it has to wait. */
  tell(line: string): void
}

/** Whether a session has a terminal that can be entered: one that only just starts, or waits in line, has none yet. */
export async function awaitWindow({ id }: SessionView, { client, socket, env, tell }: Awaited): Promise<boolean> {
  for (let looks = 0; ; looks++) {
    if (await hasWindow(id, { socket, env })) return true
    const session = await client.request<SessionView>('GET', `/sessions/${id}`)
    if (isOver(session)) return false
    if (looks === 1) tell(`${statusWords(session).text}: the terminal of ${id} opens when its agent starts …`)
    await sleep(LOOK_MS)
  }
}

async function hasWindow(id: string, { socket, env }: Pick<Awaited, 'socket' | 'env'>): Promise<boolean> {
  try {
    await promisify(execFile)('tmux', ['-S', socket, '-f', '/dev/null', 'has-session', '-t', `=${id}`], { env })
    return true
  } catch {
    return false // no such window, or no server yet
  }
}
