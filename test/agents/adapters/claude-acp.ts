import { openDriver } from '../../../src/agents/open.ts'
import { claudeAcpAgent } from '../../../src/domain/agents/claude-acp.ts'
import { claude } from '../claude-adapter.ts'
import { claudeDialect } from '../claude-model.ts'
import type { Adapter } from '../conformance/adapter.ts'
import { simulatedModel } from '../conformance/model.ts'
import { program } from '../programs/programs.ts'

/** The real claude-agent-acp, with the Claude Code that it brings, against the simulator. */
export const claudeAcp: Adapter = {
  ...claude,
  manifest: claudeAcpAgent,
  // The reason of a refusal is sent between two rounds: a model that answers immediately would be past that point.
  openModel: scripts => simulatedModel(scripts, { ...claudeDialect, thinksMs: 800 }),
  openDriver: (options = {}) =>
    openDriver(claudeAcpAgent, {
      ...(options.executable === undefined && { command: [program('claude-agent-acp')] }),
      ...options,
    }),
}
