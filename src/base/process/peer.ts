import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { isIPv4, Socket } from 'node:net'
import { endianness } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { foldersOf } from '../search-path.ts'
import { findProgram } from './find-program.ts'
import { brandLimits, brandOf, type Marker, sessionMarker } from './marker.ts'
import { commandOf, parentOf, readMarks } from './process-table.ts'
import { runShort, runShortSync, type ShortCommandResult, type ShortCommandRunner } from './run-short.ts'

type Env = Record<string, string | undefined>

/** A process, with the marks that it or one of its parents carries. */
export interface PeerProcess {
  kind: 'process'
  pid: number
  command: string
  /** Markers in environments. */
  values: ReadonlySet<string>
  brands: ReadonlySet<string>
  /** One of them has less of the limit that brands are made of than we have: something branded started it. */
  lowered: boolean
  /** We have started it, or something that did. */
  ours: boolean
  /** The process and all above it. */
  chain: readonly number[]
}

/** Who is at the other end of a connection. */
export type Peer =
  | PeerProcess
  /** This process itself. */
  | { kind: 'own' }
  /** It closed its end before it could be looked at, or belongs to another user. */
  | { kind: 'gone' }
  /** This system does not tell who it is. */
  | { kind: 'unknown'; why: string }

/**
 * Finds out who is at the other end of a connection to our Unix socket, or to a port of ours on loopback; several processes may hold
 * it. A call without a socket comes from this process itself. It is found out for each request, because a connection can be handed on.
 */
export async function identifyPeers(
  socket: Socket,
  env: Env,
  { findList = () => findSystemProgram('ss', env), run = runShort }: PeerOptions = {},
): Promise<Peer[]> {
  if (!(socket instanceof Socket)) return [{ kind: 'own' }]
  if (process.platform !== 'linux') return [{ kind: 'unknown', why: `${process.platform} does not tell who connects` }]
  const ss = findList()
  if (ss === undefined) return [{ kind: 'unknown', why: 'the program ss is missing: install iproute2' }]
  const search = socket.remotePort === undefined ? searchBySocket(socket) : searchByPort(socket)
  for (let attempt = 0; search !== undefined && attempt < TRIES; attempt++) {
    const limits = { timeoutMs: 10_000, maxBytes: 64 * 1024 * 1024 }
    const { code, stdout } = await run({
      command: ss,
      args: search.args,
      cwd: '/',
      env: { LC_ALL: 'C' },
      // A daemon that only answers commands is asked who they are, and runs nothing else.
      seldom: true,
      ...limits,
    })
    const peers = code === 0 ? findUsers(stdout, search.row).map(describeProcess) : []
    // A process that starts a program is two for a moment, and both hold the connection: one that is gone already says nothing about the other.
    if (peers.length > 0 && peers.every(({ kind }) => kind !== 'gone')) return peers
    if (socket.destroyed) break
    await sleep(AGAIN_MS * (attempt + 1))
  }
  return [{ kind: 'gone' }]
}

export interface PeerOptions {
  findList?: () => string | undefined
  /** Starts `ss`. */
  run?: ShortCommandRunner
}

/**
 * Starts programs that list something, one at a time: whoever asks while a list is made gets the next one, together with all others
 * who wait for it. A thousand connections at once would otherwise start a thousand programs, and most would be late.
 */
export function openSharedLists(run: ShortCommandRunner = runShort): ShortCommandRunner {
  const made = new Map<string, Promise<ShortCommandResult>>()
  const next = new Map<string, Promise<ShortCommandResult>>()
  return command => {
    const key = [command.command, ...command.args].join(' ')
    const begin = () => {
      next.delete(key)
      const list = run(command).finally(() => made.delete(key))
      made.set(key, list)
      return list
    }
    const waiting = next.get(key)
    const before = made.get(key)
    if (waiting || !before) return waiting ?? begin()
    const later = before.then(begin, begin)
    next.set(key, later)
    return later
  }
}

/** How `ss` is asked for the other end of a connection, and the row of it, with who holds it. */
interface PeerSearch {
  args: string[]
  row: RegExp
}

/** Only sockets without a name are listed and read: a name may hold anything, line breaks and whole rows included. */
function searchBySocket(socket: Socket): PeerSearch | undefined {
  const fd = (socket as Socket & { _handle?: { fd?: number } | null })._handle?.fd
  if (fd === undefined || fd < 0) return undefined
  const own = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1]
  const row = new RegExp(`^u_str +ESTAB +\\d+ +\\d+ +\\* +\\d+ +\\* +${own} +users:\\((.*)\\) *$`)
  return own === undefined ? undefined : { args: ['-xpH', 'src', 'unix:'], row }
}

function searchByPort({ remoteAddress, remotePort, localAddress, localPort }: Socket): PeerSearch {
  // The same list for all who connect to this port: finding out who holds sockets costs the most, however few are listed.
  const args = ['-tnpH', 'state', 'established', 'dport', '=', `:${localPort}`]
  const [from, to] = [asListed(remoteAddress, remotePort), asListed(localAddress, localPort)]
  return { args, row: new RegExp(`^\\d+ +\\d+ +${from} +${to} +users:\\((.*)\\) *$`) }
}

/** An address as `ss` writes it, for a regular expression. A socket for both families shows an IPv4 address within an IPv6 one. */
function asListed(address = '', port = 0): string {
  const [plain] = /(?<=^::ffff:)[\d.]+$/i.exec(address) ?? [address]
  const escaped = RegExp.escape(plain)
  return plain.includes(':') ? `\\[${escaped}\\]:${port}` : `(?:\\[::ffff:)?${escaped}\\]?:${port}`
}

/**
 * Whether a process itself holds the other end of a connection to a port of ours. That is found far sooner than who holds it. Each address of
 * this machine has ports of its own, so the numbers of the ports alone say nothing.
 */
export function holdsOtherEnd(pid: number, { remoteAddress, remotePort, localAddress, localPort }: Socket): boolean {
  const [from, to] = [inSystemList(remoteAddress, remotePort), inSystemList(localAddress, localPort)]
  // Both ends, five columns, and the number of the socket.
  const row = new RegExp(`^ *\\d+: ${from} ${to} (?:\\S+ +){6}(\\d+) `, 'gm')
  try {
    const lists = ['tcp', 'tcp6'].map(list => readFileSync(`/proc/net/${list}`, 'latin1'))
    const held = new Set(lists.flatMap(list => [...list.matchAll(row)].map(([, number]) => `socket:[${number}]`)))
    return readdirSync(`/proc/${pid}/fd`).some(fd => held.has(readlinkSync(`/proc/${pid}/fd/${fd}`)))
  } catch {
    return false // it is gone, or closed something meanwhile
  }
}

/** An address as the kernel lists it, for a regular expression: words of 32 bits in hexadecimal, in the order of this machine. */
function inSystemList(address = '', port = 0): string {
  const [plain = ''] = /(?<=^::ffff:)[\d.]+$/i.exec(address) ?? [address]
  const bytes = isIPv4(plain) ? Buffer.from(plain.split('.').map(Number)) : Buffer.from(groupsOf(plain), 'hex')
  const hex = (endianness() === 'LE' ? bytes.swap32() : bytes).toString('hex').toUpperCase()
  const within = endianness() === 'LE' ? 'FFFF0000' : '0000FFFF'
  return `${isIPv4(plain) ? `(?:0{16}${within})?` : ''}${hex}:${port.toString(16).padStart(4, '0').toUpperCase()}`
}

/** The eight groups of an IPv6 address, of four digits each. */
function groupsOf(address: string): string {
  const [before = [], after = []] = address.split('::').map(part => part.split(':').filter(Boolean))
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('')
  return [...before, ...zeros, ...after].map(group => group.padStart(4, '0')).join('')
}

const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/run/current-system/sw/bin']

/**
 * The system's own program, and never one that an agent may have written: whoever is not root gets one from their PATH if only root
 * can change it; for root there is no such file.
 */
export function findSystemProgram(
  name: string,
  { PATH: path }: Env,
  systemFolders: readonly string[] = SYSTEM_FOLDERS,
): string | undefined {
  const folders = [...systemFolders, ...(process.getuid?.() === 0 ? [] : foldersOf(path))]
  const found = folders.flatMap(folder => findProgram(join(folder, name), {}) ?? [])
  return found.find(isOnlyRoots)
}

/**
 * Whether only root can write a file or put another one in its place, both where it is named and where it is. In a sticky folder
 * nobody can replace what belongs to root.
 */
function isOnlyRoots(path: string): boolean {
  return [path, realpathSync(path)].every(file => [file, ...foldersAbove(file)].every(isRoots))
}

function isRoots(path: string): boolean {
  const stat = lstatSync(path)
  const writable = stat.mode & (stat.mode & 0o1000 ? 0o002 : 0o022)
  return stat.uid === 0 && (stat.isSymbolicLink() || writable === 0)
}

function foldersAbove(path: string): string[] {
  const above = dirname(path)
  return above === path ? [] : [above, ...foldersAbove(above)]
}

/** The kernel lists sockets while others come and go, and may leave one out, several times on a busy machine. A second is waited in all. */
const TRIES = 8
const AGAIN_MS = 30

/** The processes that hold what one row is about; none if there is not exactly one such row. */
function findUsers(list: string, row: RegExp): number[] {
  const rows = list.split('\n').flatMap(line => row.exec(line)?.[1] ?? [])
  if (rows.length !== 1) return []
  return [...new Set([...(rows[0] ?? '').matchAll(/pid=(\d+),fd=/g)].map(([, pid]) => Number(pid)))]
}

/** A process and the marks that it and its parents carry. */
export function describeProcess(pid: number): Peer {
  if (pid === process.pid) return { kind: 'own' }
  const { name } = sessionMarker('')
  const [values, brands] = [new Set<string>(), new Set<string>()]
  let [lowered, ours] = [false, false]
  const chain: number[] = []
  for (let at = pid; at > 1; ) {
    chain.push(at)
    const marks = readMarks(at, name)
    for (const value of marks.values) values.add(value)
    if (marks.brand !== undefined) brands.add(marks.brand)
    lowered ||= marks.lowered
    const parent = parentOf(at)
    if (parent === undefined) return { kind: 'gone' } // it ended while we looked: nobody knows what it was
    ours ||= parent === process.pid
    at = parent
  }
  const command = (commandOf(pid).split(' ')[0] ?? '').slice(0, 200)
  return { kind: 'process', pid, command, values, brands, lowered, ours, chain }
}

/** Whether a process, or one of its parents, carries the marker of a session or a command. */
export function wears({ values, brands }: PeerProcess, marker: string): boolean {
  return values.has(marker) || brands.has(brandOf(sessionMarker(marker)))
}

/** Whether everybody at the other end of a connection carries this marker. Where the system does not tell, nobody is turned away. */
export async function isFromMarked(socket: Socket, marker: string): Promise<boolean> {
  const peers = await identifyPeers(socket, process.env)
  return peers.every(
    peer => peer.kind === 'unknown' || peer.kind === 'own' || (peer.kind === 'process' && wears(peer, marker)),
  )
}

/**
 * Brands a process that already runs, and with it everything that it starts from now on, also through a double fork and with an
 * emptied environment. Only root can take the brand off again. False where that cannot be done: not on Linux, without `prlimit`
 * (util-linux), or if the process belongs to somebody else.
 */
export function brandProcess(marker: Marker, pid: number, env: Record<string, string | undefined>): boolean {
  const prlimit = process.platform === 'linux' ? findSystemProgram('prlimit', env) : undefined
  if (prlimit === undefined) return false
  const args = ['--pid', String(pid), `--locks=${brandLimits(marker, pid).join(':')}`]
  const { code } = runShortSync({ command: prlimit, args, cwd: '/', env: {}, timeoutMs: 2_000, maxBytes: 10_000 })
  return code === 0
}
