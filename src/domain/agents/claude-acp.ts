import { CLAUDE_NEEDS, claudeAgent, NEVER_IMPORTED } from './claude.ts'
import type { AgentDefinition } from './definition.ts'

/**
 * By itself the adapter asks only when Claude Code would ask a person, which leaves out reads. This hook answers `ask` to every
 * call, which makes Claude Code ask in every mode; it starts only `printf`, and its failure blocks the call.
 */
const ASK = JSON.stringify({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'ask',
    permissionDecisionReason: 'PerpetualCC decides.',
  },
})
const GATE = { type: 'command', command: `printf '%s' '${ASK}'`, timeout: 30, onFailure: 'block' }

/** Claude Code behind `claude-agent-acp`. */
export const claudeAcpAgent: AgentDefinition = {
  kind: 'claude-acp',
  name: 'Claude Code over ACP',
  speaker: 'Claude',
  package: '@agentclientprotocol/claude-agent-acp',
  commandLine: { protocol: [], flags: {} },
  vendor: claudeAgent.vendor,
  settingsFolder: '.claude',
  revision: 1,
  verified: ['0.99.0'],
  speaks: 'acp',
  start: {
    command: 'claude-agent-acp',
    args: [],
    env: {
      CLAUDE_CODE_SIMPLE: '0',
      CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1',
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
      CLAUDE_CODE_ENABLE_TODO_TOOLS: '1',
      CLAUDE_CODE_ENABLE_TASKS: '0',
      DISABLE_AUTOUPDATER: '1',
      // Our server starts within a second; on a busy machine it takes many.
      MCP_CONNECT_TIMEOUT_MS: '60000',
      MCP_TIMEOUT: '60000',
    },
    files: {},
    model: { env: { ANTHROPIC_MODEL: '{model}' } },
    install: 'npm install -g @agentclientprotocol/claude-agent-acp',
    meta: {
      claudeCode: {
        options: {
          settingSources: '{settingSources}',
          forwardSubagentText: true,
          tools: '{tools}',
          mcpServers: '{ownServers}',
          disallowedTools: '{disallowedTools}',
          settings: {
            disableSkillShellExecution: true,
            claudeMdExcludes: [...NEVER_IMPORTED],
            hooks: { PreToolUse: [{ hooks: [GATE] }] },
          },
        },
      },
    },
    serves: { files: false, terminals: false },
  },
  sandbox: CLAUDE_NEEDS,
  hold: 'every-call',
  heldBy: 'a hook that makes it ask about every call in every mode, and blocks when it fails',
  modes: { work: 'default', known: ['default', 'acceptEdits', 'plan', 'auto'] },
  readOnly: 'the session is given reading tools only (plan mode writes when a write is allowed)',
  limits: 'an error of the turn with the vendor’s words and their reset; windows beside usage',
  resume: 'resume',
  forks: true,
  tools: {
    nameIn: 'native',
    known: {},
    failsUnasked: {
      saying: [
        // Unknown tools and wrong input.
        '^(```\\n)?<tool_use_error>[\\s\\S]*</tool_use_error>(\\n```)?$',
        // Calls of a batch that an interrupt prevented.
        "^(```\\n)?The user doesn't want to proceed with this tool use\\. The tool use was rejected",
      ],
    },
  },
  ownTools: { over: 'mcp', named: 'meta', called: 'mcp__{server}__{tool}' },
  departs: {
    'park.call': 'gone',
    'park.question': 'gone',
    'park.batch': 'gone',
    'limit.told': 'no-window',
    'failure.retries': 'untold',
    warm: 'none',
    reuse: 'none',
  },
  quirks: [
    'It brings a Claude Code of its own, older than ours.',
    'A hook of the project may replace the input of a call after it was asked about: trust covers it, the protocol does not.',
  ],
}
