import type { FastifyRequest } from 'fastify'
import { AppError } from '../base/errors.ts'
import type { Escalation } from '../domain/escalation.ts'
import type { DaemonContext } from './context.ts'
import { identifyPeer, type Peer } from './peer.ts'
import type { SpeakerCheck } from './routes/guard.ts'

type Speaking = Pick<DaemonContext, 'store' | 'log' | 'agentEnv'>

/**
 * Refuses agents, commands of projects and everything that they start wherever only a person may speak: an agent can read our token,
 * or run code that does, and would otherwise approve its own calls. A refused try is shown in the session that it came from.
 */
export function openSpeakerCheck(daemon: Speaking): SpeakerCheck {
  return {
    async refuseAgents(request) {
      const peer = await identifyPeer(request.raw.socket, daemon.agentEnv)
      const what = `${request.method} ${request.routeOptions.url ?? request.url}`
      if (peer.kind === 'gone') throw new AppError('speaker_gone', { what })
      if (peer.kind !== 'agent') return
      await noteTry(peer, what, daemon)
      throw new AppError('speaker_refused', { what, command: peer.command, pid: peer.pid })
    },
  }
}

/** Refuses to approve a HIGH request for somebody whom this system cannot identify. */
export async function refuseUnknownApproval(
  { risk }: Pick<Escalation, 'risk'>,
  request: FastifyRequest,
  daemon: Speaking,
): Promise<void> {
  if (risk !== 'HIGH' || process.platform !== 'linux') return
  const peer = await identifyPeer(request.raw.socket, daemon.agentEnv)
  if (peer.kind === 'unknown') throw new AppError('speaker_unknown', { why: peer.why })
}

/** Records the try in the session whose agent made it. */
async function noteTry(
  { pid, command, wears }: Extract<Peer, { kind: 'agent' }>,
  what: string,
  { store, log }: Speaking,
): Promise<void> {
  const owner = (await store.sessions.list({})).find(({ marker }) => marker !== null && wears(marker))
  log.warn({ pid, command, what, session: owner?.id }, 'an agent tried to speak for a person')
  if (!owner) return
  const text = `A process of this session tried to speak for you and was refused: ${what} by ${command} (pid ${pid})`
  await store.append([{ actor: 'daemon', subject: owner.id, kind: 'session.noted', body: { text } }])
}
