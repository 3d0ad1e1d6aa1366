import type { FastifyRequest } from 'fastify'
import { AppError } from '../base/errors.ts'
import { brandOf, sessionMarker } from '../base/process/marker.ts'
import type { Escalation } from '../domain/escalation.ts'
import { WarmMarkers } from '../supervisor/session/warm-processes.ts'
import { commandMarkers } from '../workspace/command/run-command.ts'
import type { DaemonContext } from './context.ts'
import { identifyPeers, type Peer } from './peer.ts'
import type { SpeakerCheck } from './routes/guard.ts'

type Speaking = Pick<DaemonContext, 'store' | 'log' | 'agentEnv' | 'paths'>
type PeerProcess = Extract<Peer, { kind: 'process' }>

/**
 * Refuses agents, commands of projects and everything that they start wherever only a person may speak: an agent can read our token,
 * or run code that does, and would otherwise approve its own calls. A refused try is shown in the session that it came from.
 */
export function openSpeakerCheck(daemon: Speaking): SpeakerCheck {
  return {
    async refuseAgents(request) {
      const peers = await identifyPeers(request.raw.socket, daemon.agentEnv)
      const what = `${request.method} ${request.routeOptions.url ?? request.url}`
      if (peers.some(({ kind }) => kind === 'gone')) throw new AppError('speaker_gone', { what })
      for (const peer of peers) {
        if (peer.kind !== 'process' || (peer.values.size === 0 && peer.brands.size === 0)) continue
        const sessions = await daemon.store.sessions.list({})
        const owner = sessions.find(({ marker }) => marker !== null && wears(peer, marker))
        // A brand alone may be somebody else's limit of file locks: it counts if it is one of ours.
        if (!owner && peer.values.size === 0 && !otherMarkers(daemon).some(marker => wears(peer, marker))) continue
        await noteTry(peer, { what, owner: owner?.id }, daemon)
        throw new AppError('speaker_refused', { what, command: peer.command, pid: peer.pid })
      }
    },
  }
}

function wears({ values, brands }: PeerProcess, marker: string): boolean {
  return values.has(marker) || brands.has(brandOf(sessionMarker(marker)))
}

/** The markers of processes that no session's row names: commands of projects, and agents that were started ahead. */
function otherMarkers({ paths }: Speaking): string[] {
  return [commandMarkers(paths.run), new WarmMarkers(paths.run)].flatMap(files => files.all())
}

/** Refuses to approve a HIGH request for somebody whom this system cannot identify. */
export async function refuseUnknownApproval(
  { risk }: Pick<Escalation, 'risk'>,
  request: FastifyRequest,
  daemon: Speaking,
): Promise<void> {
  if (risk !== 'HIGH' || process.platform !== 'linux') return
  for (const peer of await identifyPeers(request.raw.socket, daemon.agentEnv))
    if (peer.kind === 'unknown') throw new AppError('speaker_unknown', { why: peer.why })
}

/** Records the try in the session whose agent made it. */
async function noteTry(
  { pid, command }: PeerProcess,
  { what, owner }: { what: string; owner: string | undefined },
  { store, log }: Speaking,
): Promise<void> {
  log.warn({ pid, command, what, session: owner }, 'an agent tried to speak for a person')
  if (owner === undefined) return
  const text = `A process of this session tried to speak for you and was refused: ${what} by ${command} (pid ${pid})`
  await store.append([{ actor: 'daemon', subject: owner, kind: 'session.noted', body: { text } }])
}
