/**
 * What a session promises (docs/drivers.md), point by point, with the ways in which an agent may fall short of each. An agent
 * keeps a point unless its manifest names one of these ways; the conformance suite holds every agent to what it says.
 */
export const CONTRACT = {
  'turn.text': {},
  'turn.thinking': { untold: 'what the model thinks is not told' },
  'turn.plan': { untold: 'the plan of the agent is not told' },
  'turn.calls': {},
  'turn.every-call-asked': { 'reads-run': 'it reads inside the project without asking' },
  'turn.usage': { untold: 'tokens are not told' },
  'turn.cost': { untold: 'the cost is not told: it stays 0' },
  'turn.context': { untold: 'how full the context is, is not told' },
  'turn.rounds': {},
  'turn.next': {},
  'turn.cap': {},
  'turn.after-failure': {
    forgets: 'a turn that failed is forgotten: the next prompt begins with what was said before',
  },
  'refusal.stops': {},
  'refusal.explained': { unexplained: 'the model learns that a call was refused, and not why' },
  'refusal.parallel': {
    'all-fall': 'one refusal of calls made at once refuses those behind it',
  },
  'refusal.fails-closed': {},
  'refusal.judged-input': {},
  subagent: {
    'no-words': 'calls of a subagent are asked with its id; what it says is not told',
    'no-id': 'calls of a subagent are asked, but nobody can tell whose they are',
    none: 'it has no subagents here',
  },
  question: { single: 'it asks for one answer, never for several', none: 'it cannot ask a person' },
  'question.declined': {
    unexplained: 'the model learns that nobody answered, and not why',
    none: 'it cannot ask a person',
  },
  'question.late': {
    unexplained: 'the model learns that nobody answered, and not why',
    none: 'it cannot ask a person',
  },
  'tools.done': { none: 'it has no tools of ours' },
  'tools.refused': { none: 'it has no tools of ours' },
  'tools.ask': { none: 'it has no tools of ours' },
  'tools.park': {
    lost: 'a question by a tool of ours ends a session that cannot be resumed: a new one begins',
    none: 'it has no tools of ours',
  },
  'stop.pause': { forgets: 'a turn that was paused is forgotten: the next prompt begins with what was said before' },
  'stop.pause-thinking': {},
  'stop.pause-subagent': { none: 'it has no subagents here' },
  'stop.prompt-in-turn': { after: 'what is said in the middle of a turn is heard after it' },
  'stop.interrupt': {},
  'stop.interrupt-ask': {},
  'park.call': {
    gone: 'a call cannot be put off: it is refused, the session ends, and what is said to it comes with the next prompt',
    lost: 'a call cannot be put off and the conversation cannot be resumed: a new one begins',
  },
  'park.question': {
    gone: 'a question cannot be put off: the session ends, and the answer comes with the next prompt',
    none: 'it cannot ask a person',
  },
  'park.batch': {
    gone: 'of calls made at once those behind the parked one are given up with it',
    lost: 'a call cannot be put off and the conversation cannot be resumed: a new one begins',
  },
  resume: { none: 'a conversation cannot be resumed: a new one begins from the checkpoint' },
  'resume.unknown': {},
  'resume.fork': { none: 'a conversation cannot be forked' },
  'limit.told': {
    'no-window': 'a limit is told with its reset, without a window and without warning',
    'no-reset': 'a limit is told without its reset: it is tried again later and later',
    silent: 'it tries again without end and without a word',
  },
  'limit.without-reset': {
    'as-a-time': 'every refusal of the vendor comes with a time',
    silent: 'it tries again without end and without a word',
  },
  'limit.look-alike': {},
  'failure.kinds': {},
  'failure.retries': {
    untold: 'its own retries are not told',
    some: 'it gives up some failures at once; the retries of others are told',
  },
  'failure.login': {},
  'failure.crash': {},
  'failure.start': {},
  'process.environment': {},
  'process.nothing-left': {
    waits: 'a command that leaves something running is waited for; the close ends it',
    ends: 'what a command leaves running ends with the command',
  },
  'process.close': {},
  warm: { none: 'no process is started ahead of time' },
} as const satisfies Record<string, Record<string, string>>

export type ContractPoint = keyof typeof CONTRACT

/** Where an agent falls short, and in which way. */
export type Departures = { [Point in ContractPoint]?: keyof (typeof CONTRACT)[Point] }
