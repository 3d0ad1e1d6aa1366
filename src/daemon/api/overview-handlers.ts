import { homedir, hostname } from 'node:os'
import type { Caller } from '../../domain/access.ts'
import type { OVERVIEW_ROUTES } from '../../domain/api-v1/overview-routes.ts'
import type { RouteReply } from '../../domain/api-v1/route.ts'
import type { TaskCounts } from '../../domain/run.ts'
import { rowsOfRules } from '../../policy/verdict/load-rules.ts'
import { judgeExplained, loadProjectPolicy } from '../../supervisor/judge-call.ts'
import { searchJournal } from '../../tasks/journal.ts'
import { type DaemonContext, getEscalations, readNeeds } from '../context.ts'
import { readReport } from '../routes/daemon.ts'
import { answerByPerson, showEscalation, shown } from '../routes/escalations.ts'
import { realOrGiven } from '../routes/tasks.ts'
import { budgetView, holdQuota, quotaView, releaseQuota, resetBudget } from '../routes/usage.ts'
import { listMerges, mergeActions, openDaemonWorktrees, showMerge, worktreeViews } from '../routes/workspace.ts'
import { type Handlers, pageOfList, projectIn } from './call.ts'
import type { ReachableThings } from './reach.ts'

type ListedRule = RouteReply<(typeof OVERVIEW_ROUTES)['listRules']>['rules'][number]
/** Rows of which the schema of the reply has every field; a field that it lacks is named by the compiler. */
type ShownWhole<Row, Shown> = Row & Record<Exclude<keyof Row, keyof Shown>, never>

/** Answers the routes of decisions, rules, quota, worktrees, merges, and what shows all of it. */
export function overviewHandlers(
  daemon: DaemonContext,
  reach: ReachableThings,
): Handlers<keyof typeof OVERVIEW_ROUTES> {
  const { store, supervisor, paths, agentEnv: env } = daemon
  const merges = mergeActions(daemon)
  const within = async (project: string | undefined) => (project === undefined ? undefined : realOrGiven(project))
  const policyOf = (project: string) => loadProjectPolicy({ paths, env, project, answers: store.answers })
  const worktreesOf = async (ref: string, caller: Caller) => {
    const worktrees = await openDaemonWorktrees(daemon)
    const { id } = await reach.task(ref, caller)
    return { worktrees, id, rows: await worktrees.show(id) }
  }
  return {
    async listEscalations({ query: { project, state, session, ...paging }, caller }) {
      const only = session === undefined ? undefined : (await reach.session(session, caller)).id
      const rows = await getEscalations(daemon).list({ session: only, states: state === 'all' ? undefined : [state] })
      const wanted = await within(project)
      const ours = rows.filter(row => wanted === undefined || row.project === wanted)
      const ordered = ours.sort((a, b) => a.number - b.number)
      const { items, next } = pageOfList(ordered, paging, ({ number }) => String(number))
      return { items: await shown(items, daemon), next }
    },
    readEscalation: async ({ params, caller }) => showEscalation(await reach.escalation(params.number, caller), daemon),
    async answerEscalation({ params, body, caller, refuseUnknownApproval }) {
      const escalation = await reach.escalation(params.number, caller)
      if (body.verdict === 'allow') await refuseUnknownApproval(escalation)
      return answerByPerson(escalation.number, { ...body, by: caller.name }, daemon)
    },
    listNeeds: async ({ query }) => readNeeds(daemon, { project: await within(query.project) }),

    async listRules({ query }) {
      const policy = await policyOf(projectIn(query))
      const { problem } = policy.rules
      const rules: ShownWhole<ReturnType<typeof rowsOfRules>[number], ListedRule>[] = rowsOfRules(
        policy.rules,
        policy.userFile,
      )
      return {
        rules,
        problem: problem ? { code: problem.code, message: problem.message } : null,
      }
    },
    async explainCall({ body }) {
      const project = await realOrGiven(projectIn(body))
      const policy = await policyOf(project)
      const call = { tool: body.tool, input: body.input, project, home: env['HOME'] || homedir() }
      const judge = (attached: boolean) => judgeExplained(call, { classifier: daemon.policy, policy, attached })
      const [{ assessment, decision }, watched] = [await judge(false), await judge(true)]
      const { risk, verdict, confidence, by, reason } = decision
      return {
        ...{ tool: body.tool, project, normalised: assessment.normalised, risk, verdict, confidence, by, reason },
        attached: { verdict: watched.decision.verdict, by: watched.decision.by },
        reasons: [...assessment.reasons],
      }
    },

    readQuota: () => quotaView(daemon),
    holdQuota: ({ body, caller }) => holdQuota(body.account, caller.name, daemon),
    releaseQuota: ({ body }) => releaseQuota(body, daemon),
    readBudgets: async ({ query }) => budgetView(await within(query.project), daemon),
    resetBudget: async ({ body }) => resetBudget(await realOrGiven(projectIn(body)), daemon),

    async listWorktrees({ query: { project, all, ...paging } }) {
      const rows = await (await openDaemonWorktrees(daemon)).list({
        ...(project !== undefined && { project: await realOrGiven(project) }),
        all: all !== undefined,
      })
      const { items, next } = pageOfList(rows, paging, ({ task, attempt }) => `${task}/${attempt}`)
      return { items: await worktreeViews(items, daemon), next }
    },
    async readWorktree({ params, caller }) {
      const { worktrees, rows } = await worktreesOf(params.task, caller)
      return { worktrees: await worktreeViews(rows, daemon), forecast: await worktrees.forecast(rows) }
    },
    async archiveWorktree({ params, caller }) {
      const { worktrees, id } = await worktreesOf(params.task, caller)
      await worktrees.archive(id)
      return { done: true }
    },
    async restoreWorktree({ params, caller }) {
      const { worktrees, id } = await worktreesOf(params.task, caller)
      await worktrees.restore(id)
      return { done: true }
    },
    async listMerges({ query: { project, all, ...paging } }) {
      return pageOfList(await listMerges({ project, all: all !== undefined }, daemon), paging, ({ id }) => String(id))
    },
    readMerge: async ({ params, caller }) => showMerge(await reach.merge(params.merge, caller), daemon),
    retryMerge: async ({ params, caller }) => merges.retry(await reach.merge(params.merge, caller)),
    abortMerge: async ({ params, caller }) => merges.abort(await reach.merge(params.merge, caller)),

    readReport: ({ query }) => readReport(query, daemon),
    async listJournal({ query: { project, task, run, ...rest }, caller }) {
      return searchJournal(store, {
        ...rest,
        project: await within(project),
        task: task === undefined ? undefined : (await reach.task(task, caller)).id,
        run: run === undefined ? undefined : (await reach.run(run, caller)).id,
      })
    },
    async listProjects({ query: { project, ...paging } }) {
      const only = await within(project)
      const rows = (await listProjects()).filter(row => only === undefined || row.project === only)
      return pageOfList(rows, paging, row => row.project)
    },
    async listSystems() {
      const status = daemon.stopping.aborted ? 'stopping' : 'ok'
      const sessions = { live: supervisor.liveCount, total: await store.sessions.count() }
      const { version, startedAt: started_at } = daemon
      return { systems: [{ name: hostname(), version, status, started_at, sessions }] }
    },
  }

  async function listProjects() {
    const [counts, sessions, runs] = await Promise.all([
      store.tasks.countsByProject(),
      store.sessions.list(),
      store.runs.list(),
    ])
    const names = new Set([...counts.keys(), ...[...sessions, ...runs].map(({ project }) => project)])
    const nothing: TaskCounts = {}
    return [...names].sort().map(project => {
      const [ownSessions, ownRuns] = [sessions, runs].map(rows => rows.filter(row => row.project === project))
      const begun = [...(ownSessions ?? []), ...(ownRuns ?? [])].map(({ created_at }) => created_at)
      return {
        project,
        tasks: counts.get(project) ?? nothing,
        sessions: ownSessions?.length ?? 0,
        open_runs: runs.filter(run => run.project === project && run.state !== 'ended').length,
        last_at: begun.length === 0 ? null : Math.max(...begun),
      }
    })
  }
}
