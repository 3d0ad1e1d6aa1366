import type { FastifyRequest } from 'fastify'
import { DAY_MS } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import { brandOf, HELPER_MARKER, OBSERVED_MARKER } from '../base/process/marker.ts'
import {
  describeProcess,
  identifyPeers,
  openSharedLists,
  type Peer,
  type PeerProcess,
  wears,
} from '../base/process/peer.ts'
import { readMarks } from '../base/process/process-table.ts'
import type { RefusedSpeaker } from '../domain/api.ts'
import { VendorProcesses } from '../supervisor/hooks/vendor-process.ts'
import { WarmMarkers } from '../supervisor/session/warm-processes.ts'
import { commandMarkers } from '../workspace/command/run-command.ts'
import type { DaemonContext } from './context.ts'
import type { SpeakerCheck } from './routes/guard.ts'

type Speaking = Pick<DaemonContext, 'store' | 'log' | 'agentEnv' | 'paths'>

/**
 * Refuses agents, commands of projects, the daemon's own helpers and everything that they start wherever only a person may speak: an
 * agent can read our token, or run code that does, and would otherwise approve its own calls. An agent that the person started counts
 * from its first hook on. A refused try is shown in the session that it came from. `refusesItself`: a connection from this process is
 * one that it made for an agent, whose sandbox has no other way out.
 */
export function openSpeakerCheck(daemon: Speaking, { refusesItself = false } = {}): SpeakerCheck {
  const tries = new RefusedTries(daemon)
  const vendors = new VendorProcesses(daemon.paths)
  const identified = new WeakMap<FastifyRequest, Peer[]>()
  const run = openSharedLists()
  const refuse = async (request: FastifyRequest, isAllowed: (peer: PeerProcess) => boolean) => {
    const peers = await identifyPeers(request.raw.socket, daemon.agentEnv, { run })
    identified.set(request, peers)
    const what = `${request.method} ${request.routeOptions.url ?? request.url}`
    if (peers.some(({ kind }) => kind === 'gone')) throw new AppError('speaker_gone', { what })
    for (const peer of peers) {
      if (peer.kind === 'own' && refusesItself)
        throw new AppError('speaker_refused', { what, command: 'pcc', pid: process.pid })
      if (peer.kind !== 'process') continue
      if (vendors.isAmong(peer.chain)) {
        await tries.note(peer, { what, owner: 'daemon' })
        throw new AppError('speaker_refused', { what, command: peer.command, pid: peer.pid })
      }
      if (!isMarked(peer) || isAllowed(peer)) continue
      const sessions = await daemon.store.sessions.list({ only: 'marked' })
      const owner = sessions.find(({ marker }) => marker !== null && wears(peer, marker))
      if (!owner && !isKnownMark(peer, daemon)) continue
      await tries.note(peer, { what, owner: owner?.id ?? 'daemon' })
      throw new AppError('speaker_refused', { what, command: peer.command, pid: peer.pid })
    }
  }
  return {
    refuseAgents: request => refuse(request, () => false),
    refuseUnknownApproval(request, { risk }) {
      if (risk !== 'HIGH' || process.platform !== 'linux') return
      for (const peer of identified.get(request) ?? [])
        if (peer.kind === 'unknown') throw new AppError('speaker_unknown', { why: peer.why })
    },
    refuseOtherAgents: (request, marker) => refuse(request, peer => marker !== null && wears(peer, marker)),
  }
}

/** Whether a process or one above it carries any mark, also one that is not ours. */
function isMarked({ values, brands, lowered, ours }: PeerProcess): boolean {
  return values.size > 0 || brands.size > 0 || lowered || ours
}

/**
 * Whether a process may hear what pcc knows of a project, and report what happened there. Doubt is a no: whatever carries a mark may be
 * code that pcc runs for another project, and it chooses the value of its mark itself. The one mark that counts for nothing is the brand
 * that agents of the person get at their first hook: only below such an agent, and with no mark above it.
 */
export function isHeard(peer: Peer, vendors: VendorProcesses): boolean {
  if (peer.kind !== 'process') return peer.kind === 'unknown'
  const own = withoutSurroundings(peer)
  const { values, brands, ours, chain } = own
  if (!isMarked(own)) return true
  if (values.size > 0 || ours || [...brands].some(brand => brand !== brandOf(OBSERVED_MARKER))) return false
  const agents = vendors.running().filter(({ pid }) => chain.includes(pid))
  if (agents.some(({ isDoubted }) => isDoubted)) return false
  const highest = Math.max(-1, ...agents.map(({ pid }) => chain.indexOf(pid)))
  if (highest === -1) return false
  const above = chain[highest + 1]
  if (above === undefined) return true
  const described = describeProcess(above)
  return described.kind === 'process' && !isMarked(withoutSurroundings(described))
}

/** A limit of file locks that this process has too was set around both; what it starts itself has another one, and a lower hard limit. */
function withoutSurroundings(peer: PeerProcess): PeerProcess {
  const { brand } = readMarks(process.pid, '')
  return { ...peer, brands: new Set([...peer.brands].filter(carried => carried !== brand)) }
}

/** A brand alone may be somebody else's limit of file locks: it counts if it is one of ours. */
function isKnownMark(peer: PeerProcess, { paths }: Speaking): boolean {
  if (peer.values.size > 0 || peer.lowered || peer.ours) return true
  // Commands of projects and agents that were started ahead are named by no session's row.
  const others = [commandMarkers(paths.run), new WarmMarkers(paths.run)].flatMap(files => files.all())
  return [HELPER_MARKER.value, OBSERVED_MARKER.value, ...others].some(marker => wears(peer, marker))
}

/** A session that tries in a loop gets one event for this time, with how often it tried. */
const ONE_EVENT_MS = 60_000

interface Try {
  what: string
  command: string
  pid: number
}

/** Records tries in the session that they came from, or in the daemon's own record. */
class RefusedTries {
  readonly #daemon: Speaking
  /** Tries since the last event, by their owner. */
  readonly #since = new Map<string, { count: number; last: Try | undefined }>()

  constructor(daemon: Speaking) {
    this.#daemon = daemon
  }

  async note({ pid, command }: PeerProcess, { what, owner }: { what: string; owner: string }): Promise<void> {
    const waiting = this.#since.get(owner)
    if (waiting) {
      waiting.count++
      waiting.last = { what, command, pid }
      return
    }
    this.#wait(owner)
    await this.#append(owner, { what, command, pid }, 1)
  }

  #wait(owner: string): void {
    this.#since.set(owner, { count: 0, last: undefined })
    setTimeout(() => void this.#flush(owner), ONE_EVENT_MS).unref()
  }

  async #flush(owner: string): Promise<void> {
    const { count = 0, last } = this.#since.get(owner) ?? {}
    this.#since.delete(owner)
    if (!last) return
    this.#wait(owner)
    await this.#append(owner, last, count).catch(error => this.#daemon.log.error({ error }, 'a try was not recorded'))
  }

  async #append(owner: string, body: Try, count: number): Promise<void> {
    const { store, log } = this.#daemon
    log.warn({ ...body, count, session: owner }, 'an agent tried to speak for a person')
    await store.append([{ actor: 'daemon', subject: owner, kind: 'speaker.refused', body: { ...body, count } }])
  }
}

const SHOWN_FOR_MS = 7 * DAY_MS
const MOST_SHOWN = 50

/** Who tried to speak for the person within a week, the newest first. */
export async function listRefusedSpeakers(
  { store }: Pick<Speaking, 'store'>,
  session?: string,
): Promise<RefusedSpeaker[]> {
  const from = Date.now() - SHOWN_FOR_MS
  const events = await store.events({ subject: session, kinds: ['speaker.refused'], from, tail: MOST_SHOWN })
  return events.reverse().flatMap(({ kind, time, subject, body }) => {
    return kind === 'speaker.refused' ? [{ at: time, session_id: subject === 'daemon' ? null : subject, ...body }] : []
  })
}
