import type { AgentManifest } from '../../domain/agents/manifest.ts'

/** Over the person's and the project's own settings. */
const CONFIG = JSON.stringify({ permission: { '*': 'ask' }, autoupdate: false, share: 'disabled' })

/** opencode in its ACP mode. */
export const opencodeManifest: AgentManifest = {
  kind: 'opencode',
  name: 'opencode',
  revision: 1,
  verified: ['1.18.33'],
  speaks: 'acp',
  start: {
    command: 'opencode',
    args: ['acp'],
    env: { OPENCODE_CONFIG_CONTENT: CONFIG, OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    files: {},
    model: {},
    install: 'npm install -g opencode-ai',
    serves: { files: false, terminals: false },
  },
  hold: 'every-call',
  heldBy: 'its own permission settings, which ask about everything',
  modes: { known: ['build', 'plan'] },
  readOnly: 'every call of another tool is refused',
  limits: 'an error of the turn',
  resume: 'load',
  forks: false,
  tools: {
    nameIn: 'title',
    known: {},
  },
  refusalEndsTurn: true,
  departs: {},
  quirks: ['A refused call ends the whole turn: it is told why with a prompt of its own and goes on.'],
}
