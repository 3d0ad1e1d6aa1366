import type { AgentManifest } from '../../../domain/agents/manifest.ts'
import { onlyReads } from './only-reads.ts'
import type { Named } from './request-of.ts'

/** A call at its end, and what is known of it. */
export interface EndedCall {
  kind: string | undefined
  title: string | undefined
  /** What it was in our own words. */
  named: Named[]
  ok: boolean
  output: string
  asked: boolean
  allowed: boolean
  /** A refusal beside it, or a stop of ours, took it down before it came to be asked. */
  fallen: boolean
}

/**
 * The second look: whether a call that ended ran without our yes. Of an agent that asks about everything that is every call which
 * succeeded without one, and every call which failed without having been asked about, unless the agent gave it up before it came to
 * that; of one that asks about writes, what wrote or ran a command that does more than read.
 */
export function ranUnjudged(call: EndedCall, { hold, tools }: Pick<AgentManifest, 'hold' | 'tools'>): boolean {
  if (hold === 'writes') return call.ok && !call.allowed && writes(call)
  if (hold !== 'every-call') return false
  if (call.kind === 'other' && (tools.inert ?? []).includes(call.title ?? '')) return false
  if (call.ok) return !call.allowed
  if (call.asked || call.fallen) return false
  const { kinds = [], saying = [] } = tools.failsUnasked ?? {}
  return !kinds.includes(call.kind ?? '') && !saying.some(form => new RegExp(form).test(call.output))
}

const WRITING = ['edit', 'delete', 'move']

function writes({ kind, named }: EndedCall): boolean {
  if (WRITING.includes(kind ?? '') || named.some(({ tool }) => tool === 'Write' || tool === 'Edit')) return true
  const commands = named.filter(({ tool }) => tool === 'Bash')
  if (kind === 'execute' && commands.length === 0) return true
  return commands.some(({ input }) => !onlyReads(String(input['command'] ?? '')))
}
