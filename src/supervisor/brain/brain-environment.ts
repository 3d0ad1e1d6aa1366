import { agentEnvironment } from '../../domain/config/agent-env.ts'

interface Sources {
  /** Of the daemon: keys that settings name may stand there. */
  daemon: Record<string, string | undefined>
  session: Record<string, string>
  /** `agents.env`. */
  patterns: readonly string[]
}

/**
 * What brains are reached with. A judge has the login of the session it judges for: what an agent gets of an environment is
 * never the daemon's, which may be of another account.
 */
export function brainEnvironment({ daemon, session, patterns }: Sources): Record<string, string | undefined> {
  const both = { ...daemon, ...session }
  const agents = agentEnvironment(both, patterns)
  return Object.fromEntries(Object.entries(both).filter(([name]) => name in session || !(name in agents)))
}
