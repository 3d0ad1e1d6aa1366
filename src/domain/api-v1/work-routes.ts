import * as z from 'zod'
import { AnswerAsk, ResumeSession, SessionStatus, SessionView, StartSession } from '../api.ts'
import { ContinueFeatureRequest, CreateFeature, DeleteFeature, FeatureName, FeatureView } from '../feature.ts'
import { RunDetail, RunPlan, RunView, StartRun, StopRun } from '../run.ts'
import { AddedTask, AddTask } from '../task.ts'
import { type ApiRoute, LONG_TEXT_BYTES, Paging, Project, pageOf, Ref } from './route.ts'
import { EventView } from './task-routes.ts'

/** The name of an agent, as `pcc agents` lists it. A command line is not taken: it would run any program. */
const AgentName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,62}$/, 'the name of an agent, as pcc agents lists it')
  .optional()

/**
 * Who may send each field of a request: any key that may use the route, or only the person's own terminal, because the field is their
 * environment or their settings, or widens what an agent may do. A new field belongs to nobody until it has a line here.
 */
type Fields<Request> = Readonly<Record<keyof Request, 'anyone' | 'terminal'>>

/** The fields that any key may send, for `pick`. */
function open<const Table extends Readonly<Record<string, 'anyone' | 'terminal'>>>(table: Table) {
  const names = Object.keys(table).filter(name => table[name] === 'anyone')
  return Object.fromEntries(names.map(name => [name, true])) as {
    [Name in keyof Table as Table[Name] extends 'anyone' ? Name : never]: true
  }
}

const RUN_FIELDS = {
  agent: 'anyone',
  auto_resume: 'anyone',
  auto_approve: 'terminal',
  brain: 'anyone',
  brain_model: 'anyone',
  confidence: 'anyone',
  config: 'terminal',
  settings: 'terminal',
  limit: 'anyone',
  model: 'anyone',
  strategy: 'anyone',
  max_retries: 'anyone',
  verify: 'terminal',
  parallel: 'anyone',
  budget: 'anyone',
  project: 'anyone',
  target: 'anyone',
  env: 'terminal',
} as const satisfies Fields<StartRun>

const SESSION_FIELDS = {
  project: 'anyone',
  task: 'anyone',
  tasks: 'terminal',
  requirements: 'terminal',
  name: 'anyone',
  agent: 'anyone',
  model: 'anyone',
  max_turns: 'anyone',
  allowed_tools: 'terminal',
  disallowed_tools: 'anyone',
  priority: 'anyone',
  brain: 'anyone',
  brain_model: 'anyone',
  confidence: 'anyone',
  auto_resume: 'anyone',
  budget: 'anyone',
  auto_approve: 'terminal',
  worktree: 'anyone',
  host: 'terminal',
  resume: 'terminal',
  record: 'terminal',
  attach: 'terminal',
  config: 'terminal',
  settings: 'terminal',
  env: 'terminal',
} as const satisfies Fields<StartSession>

const FEATURE_FIELDS = {
  agent: 'anyone',
  model: 'anyone',
  budget: 'anyone',
  auto_resume: 'anyone',
  config: 'terminal',
  settings: 'terminal',
  until: 'anyone',
  env: 'terminal',
  attach: 'terminal',
  project: 'anyone',
  name: 'anyone',
  from: 'anyone',
  ai: 'anyone',
} as const satisfies Fields<CreateFeature>

const NewRun = StartRun.pick(open(RUN_FIELDS)).extend({ project: Project.optional(), agent: AgentName })
const NewSession = StartSession.pick(open(SESSION_FIELDS)).extend({ project: Project.optional(), agent: AgentName })
const NewFeature = CreateFeature.pick(open(FEATURE_FIELDS)).extend({ project: Project.optional(), agent: AgentName })

const run = { noun: 'Runs', reach: 'found', params: z.object({ run: Ref }) } as const
/** What changes while agents work, and is no change of the run or session. */
const MOMENTS = ['left_ms', 'last_line', 'quota', 'activity', 'plan', 'tokens', 'cost_usd', 'turns', 'tools']
const steerRun = {
  ...run,
  method: 'POST',
  creates: false,
  scope: 'work',
  reply: RunDetail,
  versioned: MOMENTS,
  guardedBy: 'readRun',
} as const
const session = { noun: 'Sessions', reach: 'found', params: z.object({ session: Ref }) } as const
const order = {
  ...session,
  method: 'POST',
  creates: false,
  scope: 'work',
  reply: SessionView,
  guardedBy: 'readSession',
} as const

export const WORK_ROUTES = {
  startRun: {
    method: 'POST',
    path: '/runs',
    noun: 'Runs',
    scope: 'work',
    summary: 'Start a run: it works through a project, a feature or a task, with a fresh agent for each task.',
    reach: 'body',
    body: NewRun,
    reply: RunDetail,
    status: 201,
    creates: true,
  },
  planRun: {
    method: 'POST',
    path: '/runs/plan',
    noun: 'Runs',
    scope: 'read',
    summary: 'Show the steps that a run would take. Nothing is started.',
    reach: 'body',
    body: NewRun,
    reply: RunPlan,
    readOnly: true,
  },
  listRuns: {
    method: 'GET',
    path: '/runs',
    noun: 'Runs',
    scope: 'read',
    summary: 'List runs, newest first.',
    reach: 'query',
    query: z.strictObject({ project: Project.optional(), open: z.enum(['true']).optional(), ...Paging }),
    reply: pageOf(RunView),
  },
  readRun: {
    ...run,
    method: 'GET',
    path: '/runs/{run}',
    scope: 'read',
    summary: 'Read a run with its attempts.',
    reply: RunDetail,
    versioned: MOMENTS,
  },
  pauseRun: {
    ...steerRun,
    path: '/runs/{run}/pause',
    summary: 'Pause a run after the tools at work.',
  },
  resumeRun: {
    ...steerRun,
    path: '/runs/{run}/resume',
    summary: 'Resume a paused run.',
  },
  stopRun: {
    ...steerRun,
    path: '/runs/{run}/stop',
    summary: 'End a run after the current attempts, or `now`.',
    body: StopRun.default({}),
  },

  startSession: {
    method: 'POST',
    path: '/sessions',
    noun: 'Sessions',
    scope: 'work',
    summary: 'Start a supervised session of an agent.',
    reach: 'body',
    body: NewSession,
    reply: SessionView,
    status: 201,
    creates: true,
    maxBytes: LONG_TEXT_BYTES,
  },
  listSessions: {
    method: 'GET',
    path: '/sessions',
    noun: 'Sessions',
    scope: 'read',
    summary: 'List sessions, newest first.',
    reach: 'query',
    query: z.strictObject({ project: Project.optional(), status: SessionStatus.optional(), ...Paging }),
    reply: pageOf(SessionView),
  },
  readSession: {
    ...session,
    method: 'GET',
    path: '/sessions/{session}',
    scope: 'read',
    summary: 'Read a session with its queue.',
    reply: SessionView,
    versioned: MOMENTS,
  },
  readSessionLog: {
    ...session,
    method: 'GET',
    path: '/sessions/{session}/events',
    scope: 'read',
    summary: 'Read the events of a session, oldest first.',
    query: z.strictObject({ kind: z.string().max(1_000).optional(), ...Paging }),
    reply: pageOf(EventView),
  },
  steerSession: {
    ...order,
    path: '/sessions/{session}/prompt',
    summary: 'Tell the agent of a session something while it works.',
    body: z.strictObject({ text: z.string().trim().min(1).max(1_000_000) }),
    maxBytes: LONG_TEXT_BYTES,
  },
  addToSession: {
    ...order,
    path: '/sessions/{session}/tasks',
    summary: 'Add a task to the queue of a session.',
    body: AddTask.pick({ task: true, priority: true, after: true }),
    reply: AddedTask,
    status: 201,
    creates: true,
    maxBytes: LONG_TEXT_BYTES,
  },
  answerAsk: {
    ...order,
    path: '/sessions/{session}/answers',
    scope: 'decide',
    summary: 'Answer what a session asks right now (`asks` of the session).',
    body: AnswerAsk.pick({ ask_id: true, verdict: true, answers: true, reason: true }),
    reply: z.object({ ok: z.literal(true) }),
  },
  pauseSession: { ...order, path: '/sessions/{session}/pause', summary: 'Pause a session after the running tool.' },
  resumeSession: {
    ...order,
    path: '/sessions/{session}/resume',
    summary: 'Resume a session.',
    body: ResumeSession.pick({ from: true, budget: true, model: true }).default({}),
  },
  interruptSession: {
    ...order,
    path: '/sessions/{session}/interrupt',
    summary: 'Stop the running tool of a session now.',
  },
  stopSession: { ...order, path: '/sessions/{session}/stop', summary: 'End a session.' },

  createFeature: {
    method: 'POST',
    path: '/features',
    noun: 'Features',
    scope: 'work',
    summary: 'Create a feature, which becomes a spec, a plan and tasks.',
    reach: 'body',
    body: NewFeature,
    reply: FeatureView,
    status: 201,
    creates: true,
    maxBytes: LONG_TEXT_BYTES,
  },
  listFeatures: {
    method: 'GET',
    path: '/features',
    noun: 'Features',
    scope: 'read',
    summary: 'List the features of a project.',
    reach: 'query',
    query: z.strictObject({ project: Project.optional(), ...Paging }),
    reply: pageOf(FeatureView),
  },
  readFeature: {
    method: 'GET',
    path: '/features/{feature}',
    noun: 'Features',
    scope: 'read',
    summary: 'Read a feature of a project.',
    reach: 'query',
    params: z.object({ feature: FeatureName }),
    query: z.strictObject({ project: Project.optional() }),
    reply: FeatureView,
    versioned: true,
  },
  continueFeature: {
    method: 'POST',
    creates: false,
    path: '/features/{feature}/continue',
    noun: 'Features',
    scope: 'work',
    summary: 'Let a feature go on to its next phase.',
    reach: 'body',
    params: z.object({ feature: FeatureName }),
    body: ContinueFeatureRequest.pick({ until: true }).extend({ project: Project.optional() }),
    reply: FeatureView,
    guardedBy: 'readFeature',
  },
  deleteFeature: {
    method: 'DELETE',
    path: '/features/{feature}',
    noun: 'Features',
    scope: 'work',
    summary: 'Delete a feature; with `files=true` its files too, with `tasks=true` its tasks.',
    reach: 'query',
    params: z.object({ feature: FeatureName }),
    query: DeleteFeature.extend({ project: Project.optional() }),
    reply: z.object({ deleted: z.string() }),
    guardedBy: 'readFeature',
  },
} as const satisfies Record<string, ApiRoute>
