import { createRequire } from 'node:module'
import { openDriver } from '../../src/agents/open.ts'
import { claudeAgent } from '../../src/domain/agents/claude.ts'
import { agentEnv } from '../support/world.ts'
import { claudeModel } from './claude-model.ts'
import type { Adapter } from './conformance/adapter.ts'

/** The real Claude Code against the simulator. */
export const claude: Adapter = {
  manifest: claudeAgent,
  openDriver: (options = {}) => openDriver(claudeAgent, options),
  openModel: claudeModel,
  env(home, url, login) {
    const { ANTHROPIC_API_KEY: _key, ...loggedOut } = agentEnv(home, url)
    if (login === 'none') return loggedOut
    return agentEnv(home, url, login === 'key' ? 'key' : 'oauth')
  },
  tools: { run: 'Bash', write: 'Write', delegate: 'Agent' },
}

/** The program that the product starts, not the one among the other vendors' programs, which is another version. */
export function claudeProgram(): string {
  const sdk = createRequire(new URL('../../package.json', import.meta.url)).resolve('@anthropic-ai/claude-agent-sdk')
  return createRequire(sdk).resolve(`@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`)
}
