import type { AgentManifest } from '../../domain/agents/manifest.ts'

/** Codex through its app-server, which asks about every command; its ACP adapter does not. */
export const codexManifest: AgentManifest = {
  kind: 'codex',
  name: 'Codex',
  revision: 1,
  verified: ['0.166.0'],
  speaks: 'app-server',
  start: {
    command: 'codex',
    args: ['app-server'],
    env: {},
    files: {},
    model: {},
    install: 'npm install -g @openai/codex',
    serves: { files: false, terminals: false },
  },
  hold: 'every-call',
  heldBy: 'the approval policy "untrusted": every command and every patch is asked',
  modes: { known: ['read-only', 'workspace-write', 'danger-full-access'] },
  readOnly: 'the read-only sandbox, and every request is refused',
  limits: 'an error of the turn, and account/rateLimits/updated with windows and resets',
  resume: 'resume',
  forks: false,
  tools: { nameIn: 'name', known: {} },
  departs: {},
  quirks: [
    'A killed Codex may leave empty .agents, .aws, .codex and .git folders in the project.',
    'Its ACP adapter sends no request in its default mode, and a refusal there ends the whole turn.',
  ],
}
