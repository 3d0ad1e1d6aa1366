import type { Places } from '../../base/places.ts'
import type { OpenSession, Request, Verdict } from '../../domain/session.ts'
import { trustStatus, trustStatusIn } from '../trust.ts'
import type { Checkout } from './files.ts'

/** Tools that bring a file of `.claude` to life: its text, and with it hooks and allow rules from its head. */
const LIVELY = new Set(['Skill', 'SlashCommand', 'Agent', 'Task'])

interface SkillContext {
  places: Places
  project: string
  /** The worktree in which its agent works. */
  place?: Checkout | undefined
  /** What the session was started with. */
  settingSources: OpenSession['settingSources']
}

/**
 * Refuses skills and the project's own subagents where a file of the project that has not been agreed to may be behind the
 * name: one that came with a pull in the middle of the session, or that the agent wrote itself. Looked at anew each time. A
 * session that was started without the project's settings has none of these files.
 */
export async function skillVerdict(
  { tool, input }: Pick<Request, 'tool' | 'input'>,
  { places, project, place, settingSources }: SkillContext,
): Promise<Verdict | undefined> {
  if (!LIVELY.has(tool) || !settingSources.includes('project')) return undefined
  const isAgent = tool === 'Agent' || tool === 'Task'
  if (isAgent && input['subagent_type'] === undefined) return undefined
  const { state, files } = await (place ? trustStatusIn(places, { project, ...place }) : trustStatus(places, project))
  if (state === 'trusted' || state === 'nothing-to-trust') return undefined
  const waiting = files.filter(({ kind, path }) => kind === 'prompts' && (!isAgent || /\.claude\/agents\//.test(path)))
  if (waiting.length === 0) return undefined
  const names = waiting.map(({ path }) => path).slice(0, 3)
  const more = waiting.length > names.length ? ` and ${waiting.length - names.length} more` : ''
  const reason = `${names.join(', ')}${more} can run code or widen rights, and nobody has agreed to that; go on without ${isAgent ? 'that subagent' : 'skills'}. To allow it, the person has to run pcc trust ${project}`
  return { verdict: 'deny', risk: 'HIGH', reason, confidence: 1, by: 'policy' }
}
