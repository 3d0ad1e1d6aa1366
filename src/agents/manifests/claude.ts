import type { AgentManifest } from '../../domain/agents/manifest.ts'

/** Claude Code through the vendor's own library: the model of what a driver promises. */
export const claudeManifest: AgentManifest = {
  kind: 'claude',
  name: 'Claude Code',
  revision: 1,
  verified: ['2.1.325'],
  speaks: 'sdk',
  start: {
    command: 'claude',
    args: [],
    env: {},
    files: {},
    model: {},
    install:
      'it comes with pcc; reinstall that with its optional dependencies (npm i -g perpetualcc --include=optional)',
    serves: { files: false, terminals: false },
  },
  hold: 'every-call',
  heldBy: 'a hook that sees every call in every mode and blocks when it fails',
  modes: { work: 'default', known: ['default', 'acceptEdits', 'plan', 'auto', 'dontAsk', 'bypassPermissions'] },
  readOnly: 'the session is given reading tools only',
  limits: "the vendor's own records, with window, reset and how full each window is",
  resume: 'resume',
  forks: true,
  tools: { nameIn: 'native', known: {} },
  ownTools: { over: 'library' },
  departs: {},
  quirks: [],
}
