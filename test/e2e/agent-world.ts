import type { TestContext } from 'node:test'
import { openSimulator, type Simulator } from '../../src/simulator/open.ts'
import { type Pcc, pccFor } from '../cli/pcc.ts'
import { agentEnv, gitProject } from '../support/world.ts'

export interface AgentWorld {
  pcc: Pcc
  project: string
  simulator: Simulator
}

/** The real Claude Code, with a scripted model on loopback and a project of its own. */
export async function agentWorld(t: TestContext, scenario: string, auth: 'key' | 'oauth' = 'key'): Promise<AgentWorld> {
  const simulator = await openSimulator({ text: scenario })
  const variables = Object.entries(agentEnv('/unused', simulator.url, auth))
  const pcc = pccFor(
    t,
    Object.fromEntries(variables.filter(([name]) => /^(ANTHROPIC|CLAUDE_CODE|DISABLE)_/.test(name))),
  )
  t.after(() => simulator.close())
  return { pcc, project: gitProject(t), simulator }
}
