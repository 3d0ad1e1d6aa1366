import { systemClock } from '../base/clock.ts'
import { type Peer, type PeerProcess, wears } from '../base/process/peer.ts'
import { chainBrains } from '../brain/chain.ts'
import { rulesBrain } from '../brain/rules/question.ts'
import type { HookOutput } from '../domain/hooks.ts'
import { openVerifier } from '../supervisor/completion/verifier.ts'
import type { Proposals } from '../supervisor/features/proposals.ts'
import { brainMeter } from '../supervisor/guards/spending.ts'
import { observedId, openCaptureQueue } from '../supervisor/hooks/capture.ts'
import { type HookSettings, readHookSettings } from '../supervisor/hooks/hook-settings.ts'
import { type HookRequest, openHooks } from '../supervisor/hooks/open-hooks.ts'
import { HookOutbox } from '../supervisor/hooks/outbox.ts'
import type { HookCaller, HookContext } from '../supervisor/hooks/router.ts'
import { type HookJudges, nameProjectTree } from '../supervisor/hooks/run-stop-gates.ts'
import type { TriageDeps } from '../supervisor/hooks/triage.ts'
import { findVendorProcess, VendorProcesses } from '../supervisor/hooks/vendor-process.ts'
import { modelNamesFor } from '../supervisor/runs/models.ts'
import { adviseOn, listEntries } from '../supervisor/session/brain.ts'
import { agentFor, secondAgent } from '../supervisor/session/settings.ts'
import { PROFILES, verifierCommands } from '../workspace/verify/gate-settings.ts'
import { type DaemonContext, readNeeds } from './context.ts'
import { isHeard } from './speakers.ts'

export interface DaemonHooks {
  /** `peers` are the processes at the other end of the connection. */
  answer(request: HookRequest, peers: () => Promise<Peer[]>): Promise<HookOutput>
}

/**
 * What answers hooks in the daemon: the same as without one, and what only a daemon has: its store, brains, and agents that judge.
 *
 * Our own agents run hooks too, if a person has installed some. A hook inside one of them is answered at once, and says nothing: whoever
 * started the agent holds it. That counts only if the process that asks carries the marker of an agent that is at work here;
 * a variable alone is no proof. For whatever else we have started, no model is asked and no agent is started, so that no call of ours ever
 * leads to another one. Whatever may be ours has its calls judged, and otherwise neither hears nor reports anything.
 */
export function openDaemonHooks(daemon: DaemonContext): DaemonHooks {
  const { paths, agentEnv: env, log, store, policy, supervisor, memory } = daemon
  const processes = new VendorProcesses(paths)
  const outbox = new HookOutbox(paths)
  const record = openCaptureQueue(rows => store.observed.capture(rows), { instead: rows => void outbox.add(rows) })
  const asking = new WeakMap<HookCaller, () => Promise<Peer[]>>()
  const peersOf = async (caller: HookCaller): Promise<Peer[]> => (await asking.get(caller)?.()) ?? []
  const processesOf = async (caller: HookCaller): Promise<PeerProcess[]> =>
    (await peersOf(caller)).filter(peer => peer.kind === 'process')
  const isNested = async ({ caller }: HookContext) => {
    const marks = supervisor.liveMarkers()
    return (await processesOf(caller)).some(peer => peer.ours || marks.some(mark => wears(peer, mark)))
  }
  const hooks = openHooks({
    paths,
    env,
    log,
    classifier: policy,
    answers: store.answers,
    memory: {
      recall: (event, project, role) =>
        memory.recall(project, event.kind === 'prompt' ? event.text : '', {
          ...{ agent: event.vendor, role, session: observedId(event), isHook: true },
        }),
      tidy: async () => memory.poke(),
    },
    needs: async project => (await readNeeds(daemon, { project })).needs,
    notify: async event => void (await store.append([event])),
    opinion: openOpinion(daemon, isNested),
    stop: {
      results: store.gateResults,
      async task(id, { project }) {
        const task = await store.tasks.get(id)
        return task?.project === project ? task : undefined
      },
      judges: async (context, settings) =>
        (await isNested(context)) ? {} : openStopJudges({ ask: supervisor.proposals.ask, env }, context, settings),
    },
    record,
    register: async (known, caller) => {
      if (processes.has(known)) return
      // What the hook says of its parents is only a hint: an agent could name the person's own shell.
      for (const peer of await processesOf(caller)) {
        const real = findVendorProcess(peer.pid)
        if (real) await processes.add(real, env, { isDoubted: !isHeard(peer, processes) })
      }
    },
    async isOwn(caller, event) {
      // Code that pcc runs may name any project: it hears nothing of what pcc knows, and is not believed.
      if (event.kind !== 'tool_before' && event.kind !== 'permission')
        return (await peersOf(caller)).some(peer => !isHeard(peer, processes))
      // A call goes unjudged only by proof.
      const mark = caller.env['PCC_SESSION_MARK']
      if (mark === undefined || !supervisor.liveMarkers().includes(mark)) return false
      const peers = await processesOf(caller)
      return peers.length > 0 && peers.every(peer => wears(peer, mark))
    },
  })
  return {
    answer(request, peers) {
      asking.set(request.caller, peers)
      return hooks.answer(request)
    },
  }
}

/** Asks the models of the settings, as sessions do: about MEDIUM calls, each with its deadline and its circuit breaker. */
function openOpinion(
  { paths, agentEnv: env, brainsFor, store, log }: DaemonContext,
  isNested: (context: HookContext) => Promise<boolean>,
): NonNullable<TriageDeps['opinion']> {
  return (request, context) => async (assessment, signal) => {
    const { config, answers } = await readHookSettings({ paths, env, project: context.project })
    const { threshold } = answers
    const models = (await isNested(context)) ? [] : await brainsFor(config, env)
    const about = async () => {
      const entries = await listEntries(context.project)
      const used = brainMeter({ id: null, project: context.project, task_id: null }, { store, clock: systemClock, log })
      return { project: context.project, task: '', decisions: [], similar: [], entries, used }
    }
    const brain = chainBrains([rulesBrain, ...models], { threshold })
    return adviseOn({ request, assessment }, { brain, threshold, context: about }, signal)
  }
}

interface StopJudgeDeps {
  ask: Proposals['ask']
  /** The environment that a judging agent starts with. */
  env: Record<string, string>
}

/**
 * The agents that judge the work of an agent that says that it is done: the agent of the settings, and another one for a second opinion.
 * They only read, their model follows the size and the risk of the change, and none is opened where the profile asks none.
 */
function openStopJudges(
  { ask, env }: StopJudgeDeps,
  { project }: Pick<HookContext, 'project'>,
  { gates, loaded }: HookSettings,
): HookJudges {
  if (!gates) return {}
  const worker = agentFor({ project }, loaded)
  const open = (chosen: typeof worker) =>
    openVerifier(
      { ask, stateOf: nameProjectTree },
      {
        request: { project, chosen, env, commands: verifierCommands(gates) },
        names: modelNamesFor(chosen, loaded),
        accountClosed: () => {}, // its opinion is then broken, and the person is told so
      },
    )
  const second = secondAgent(worker, loaded, project)
  const isAsked = gates.verifier === 'on' || (gates.verifier === 'auto' && PROFILES[gates.profile].verifier !== 'never')
  return { ...(isAsked && { judge: open(worker) }), ...(second && { secondOpinion: open(second) }) }
}
