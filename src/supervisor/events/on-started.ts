import { manifestOf } from '../../agents/manifests/manifests.ts'
import { USUAL_AGENT } from '../../domain/agents/choice.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'

/** The agent is up: its conversation id is what a resume needs, so it is stored at once. Every turn starts with one. */
export function onStarted(event: Extract<SessionEvent, { kind: 'started' }>, run: Run): Step {
  const known = run.row.state !== 'starting' && run.row.vendor_id === event.vendorId
  const started = {
    vendor_id: event.vendorId,
    model: event.model,
    resumed: event.resumed,
    ...(event.version === undefined ? {} : { version: event.version }),
  }
  const unseen = known ? undefined : unseenVersion(event.version, run)
  return {
    events: [
      ...(known ? [] : [eventOf(run, 'agent.started', started)]),
      ...(unseen === undefined ? [] : [eventOf(run, 'session.noted', { text: unseen }, 'daemon')]),
    ],
    patch: {
      vendor_id: event.vendorId,
      model: event.model,
      ...(run.row.state === 'starting' ? { state: 'running' as const } : {}),
    },
  }
}

/** What holds an agent was seen with some versions of it; the one of Claude Code comes with pcc. */
function unseenVersion(version: string | undefined, { row }: Run): string | undefined {
  const { kind, name, verified } = manifestOf(row.options.chosen ?? USUAL_AGENT)
  if (version === undefined || kind === 'claude' || verified.length === 0 || verified.includes(version))
    return undefined
  const seen = verified.join(', ')
  return `${name} ${version}: what pcc holds it to was seen with ${seen}. Watch it the first time (pcc agents doctor).`
}
