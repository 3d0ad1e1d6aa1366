import {
  type ChildProcess,
  type ChildProcessByStdio,
  type ChildProcessWithoutNullStreams,
  spawn,
} from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { findProgram } from './find-program.ts'
import { GUARDIAN_SCRIPT } from './guardian-script.ts'
import { type Isolation, type IsolationLevel, probeNamespace } from './isolation.ts'
import { branded, brandOf, type Marker } from './marker.ts'
import { inNamespace, type Namespace } from './namespace.ts'
import { bornAt } from './start-time.ts'
import { type FoundProcess, sweepMarked } from './sweep.ts'

export interface GuardedCommand {
  command: string
  args: string[]
  /** The whole environment of the child; the marker is added. */
  env: Record<string, string | undefined>
  cwd?: string | undefined
  marker: Marker
}

/** A child whose whole tree ends when it exits, when `end` is called, or when we die, by whatever cause. */
export interface GuardedChild extends ChildProcessWithoutNullStreams, AsyncDisposable {
  readonly level: IsolationLevel
  readonly marker: Marker
  /** Kills what is left of the tree, at once. Resolves when nothing is left, or with what withstood ten seconds of it. */
  end(): Promise<FoundProcess[]>
}

export interface Guard {
  level(isolation: Isolation): IsolationLevel
  spawn(command: GuardedCommand, isolation: Isolation): GuardedChild
}

type Guardian = ChildProcessByStdio<Writable, null, null>
type Facts = Pick<GuardedChild, 'marker' | 'level'>

/** Starts guarded children, and remembers what this machine allows: the probe takes some milliseconds. */
export function openGuard(): Guard {
  const known = new Map<Isolation, Namespace | undefined>()
  const namespaceFor = (isolation: Isolation) => {
    if (!known.has(isolation)) known.set(isolation, probeNamespace(isolation))
    return known.get(isolation)
  }
  return {
    level: isolation => (namespaceFor(isolation) ? 'namespace' : 'marker'),
    spawn: (command, isolation) => spawnUnder(namespaceFor(isolation), command),
  }
}

/** One guarded child; whoever starts several keeps an `openGuard()`. */
export function spawnGuarded({ isolation, ...command }: GuardedCommand & { isolation: Isolation }): GuardedChild {
  return openGuard().spawn(command, isolation)
}

function spawnUnder(allowed: Namespace | undefined, { command, args, env, cwd, marker }: GuardedCommand): GuardedChild {
  // A program that is not there is started bare, so that the owner gets the usual 'error' and not a shell's exit code.
  const exists = findProgram(command, env, cwd) !== undefined
  const namespace = exists ? allowed : undefined
  const inner = namespace ? inNamespace(namespace, command, args) : { command, args }
  const start = exists ? branded(marker, inner.command, inner.args) : inner
  const guardian = startGuardian(marker)
  try {
    const options = { cwd, env: { ...env, [marker.name]: marker.value }, detached: true }
    return guard(spawn(start.command, start.args, options), guardian, {
      marker,
      level: namespace ? 'namespace' : 'marker',
    })
  } catch (error) {
    guardian.stdin.end()
    throw error
  }
}

/** In its own session, with nothing of ours open but the pipe whose end it waits for; it does not keep us alive. */
function startGuardian(marker: Marker): Guardian {
  const words = ['pcc-guardian', `${marker.name}=${marker.value}`, brandOf(marker)]
  const guardian = spawn('/bin/sh', ['-c', 'eval "$PCC_GUARDIAN"', ...words], {
    cwd: '/',
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LC_ALL: 'C',
      TZ: 'UTC',
      PCC_GUARDIAN: GUARDIAN_SCRIPT,
    },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guardian.on('error', () => undefined) // it could not start: then it is gone, and so is its agent
  guardian.unref()
  if (guardian.stdin instanceof Socket) guardian.stdin.unref()
  guardian.stdin.on('error', () => undefined) // it was killed: its 'exit' is dealt with
  return guardian
}

function guard(child: ChildProcessWithoutNullStreams, guardian: Guardian, facts: Facts): GuardedChild {
  const gone = once(guardian, 'exit').catch(() => undefined) // a guardian that could not start is gone as well
  const sweep = async () => {
    guardian.ref()
    guardian.stdin.end()
    await gone
    if (guardian.exitCode === 0) return []
    return (await sweepMarked(facts.marker)).left // the guardian itself was killed, or met something that would not die
  }
  let ended: Promise<FoundProcess[]> | undefined
  const end = () => {
    ended ??= sweep()
    return ended
  }
  if (child.pid !== undefined) guardian.stdin.write(`${child.pid} ${bornAt(child.pid) ?? ''}\n`)
  child.once('exit', end).once('error', end)
  gone.then(end)
  const kill = facts.level === 'namespace' ? (signal?: NodeJS.Signals | number) => killGroup(child, signal) : child.kill
  return Object.assign(child, { ...facts, kill, end, [Symbol.asyncDispose]: async () => void (await end()) })
}

/** The child we see in a namespace is only the agent's leader: a signal is meant for the agent, which is in its group. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals | number = 'SIGTERM'): boolean {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false
  try {
    process.kill(-child.pid, signal)
  } catch {
    return false
  }
  if (signal !== 0) Object.assign(child, { killed: true })
  return true
}
