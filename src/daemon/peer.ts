import { readlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProgram } from '../base/process/find-program.ts'
import { sessionMarker } from '../base/process/marker.ts'
import { commandOf, parentOf, readMarks } from '../base/process/process-table.ts'
import { runShort } from '../base/process/run-short.ts'

/** Who is at the other end of a connection. */
export type Peer =
  /** A process, with the marks that it or one of its parents carries. */
  | { kind: 'process'; pid: number; command: string; values: ReadonlySet<string>; brands: ReadonlySet<string> }
  /** This process itself. */
  | { kind: 'own' }
  /** It closed its end before it could be looked at, or belongs to another user. */
  | { kind: 'gone' }
  /** This system does not tell who it is. */
  | { kind: 'unknown'; why: string }

/**
 * Finds out who is at the other end of a connection to our Unix socket; several processes may hold it. A call without a socket comes
 * from this process itself. It is found out for each request, because a connection can be handed on.
 */
export async function identifyPeers(socket: Socket, env: Record<string, string | undefined>): Promise<Peer[]> {
  if (!(socket instanceof Socket)) return [{ kind: 'own' }]
  if (process.platform !== 'linux') return [{ kind: 'unknown', why: `${process.platform} does not tell who connects` }]
  // The system's own program first: a folder on our PATH may be one that an agent can write to.
  const ss = findProgram('ss', { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }) ?? findProgram('ss', env)
  if (ss === undefined) return [{ kind: 'unknown', why: 'the program ss is missing: install iproute2' }]
  const fd = (socket as Socket & { _handle?: { fd?: number } | null })._handle?.fd
  if (fd === undefined || fd < 0) return [{ kind: 'gone' }]
  const own = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1]
  for (let attempt = 0; own !== undefined && attempt < TRIES; attempt++) {
    const limits = { timeoutMs: 10_000, maxBytes: 64 * 1024 * 1024 }
    const { code, stdout } = await runShort({
      command: ss,
      args: ['-xpH', 'src', 'unix:'],
      cwd: '/',
      env: { LC_ALL: 'C' },
      ...limits,
    })
    const users = code === 0 ? findUsers(stdout, own) : []
    if (users.length > 0) return users.map(describeProcess)
    if (socket.destroyed) break
    await sleep(AGAIN_MS)
  }
  return [{ kind: 'gone' }]
}

/** The kernel lists sockets while others come and go, and may leave one out. */
const TRIES = 4
const AGAIN_MS = 30

/**
 * The processes that hold the other end of the connection whose own end has this inode. Only sockets without a name are listed and
 * read: a name may hold anything, line breaks and whole rows included.
 */
function findUsers(list: string, own: string): number[] {
  const other = new RegExp(`^u_str +ESTAB +\\d+ +\\d+ +\\* +\\d+ +\\* +${own} +users:\\((.*)\\) *$`)
  const rows = list.split('\n').flatMap(row => other.exec(row)?.[1] ?? [])
  if (rows.length !== 1) return []
  return [...new Set([...(rows[0] ?? '').matchAll(/pid=(\d+),fd=/g)].map(([, pid]) => Number(pid)))]
}

function describeProcess(pid: number): Peer {
  const { name } = sessionMarker('')
  const [values, brands] = [new Set<string>(), new Set<string>()]
  for (let at = pid; at > 1; ) {
    const marks = readMarks(at, name)
    for (const value of marks.values) values.add(value)
    if (marks.brand !== undefined) brands.add(marks.brand)
    const parent = parentOf(at)
    if (parent === undefined) return { kind: 'gone' } // it ended while we looked: nobody knows what it was
    at = parent
  }
  return { kind: 'process', pid, command: (commandOf(pid).split(' ')[0] ?? '').slice(0, 200), values, brands }
}
