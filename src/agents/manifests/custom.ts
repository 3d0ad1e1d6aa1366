import type { AgentManifest } from '../../domain/agents/manifest.ts'

/**
 * An agent that nobody here has looked at: all that is known is how it is started, and that it says it speaks ACP. What it asks is
 * judged as the worst it could be; whether it asks at all, nobody can say.
 */
export function customManifest(name: string, [command, ...args]: readonly [string, ...string[]]): AgentManifest {
  return {
    kind: 'custom',
    name,
    revision: 1,
    verified: [],
    speaks: 'acp',
    start: {
      command,
      args,
      env: {},
      files: {},
      model: {},
      install: 'it is yours, and its command stands in your settings or on the command line',
      serves: { files: true, terminals: true },
    },
    hold: 'observed',
    heldBy: 'nothing that is known: what it asks is judged, and it may do things without asking',
    modes: { known: [] },
    readOnly: 'every call of another tool is refused, as far as it asks',
    limits: 'an error of the turn, where it tells one',
    resume: 'resume',
    forks: true,
    tools: { nameIn: 'title', known: {} },
    departs: {
      'turn.every-call-asked': 'reads-run',
      'tools.done': 'none',
      'tools.refused': 'none',
      'tools.ask': 'none',
      'tools.park': 'none',
      warm: 'none',
    },
    quirks: [],
  }
}
