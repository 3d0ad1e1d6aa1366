import type { AccountGates } from '../../agents/limits/account-gates.ts'
import { AppError } from '../../base/errors.ts'
import { budgetWords } from '../../domain/budget.ts'
import type { Proposal, ProposeTasks } from '../../domain/feature.ts'
import { findOverrun, readSpendingTotals } from '../../tasks/budgets.ts'
import { prepareSession, refuseWhenClosed, type SupervisorContext } from '../context.ts'
import { bookAsked } from '../guards/spending.ts'
import type { PreparedSession } from '../session/prepare.ts'
import { WarmMarkers } from '../session/warm-processes.ts'
import type { AgentQuestion, AgentReply, AgentRequest, AskAgentDeps } from './ask-agent.ts'

/** Questions to agents that may only read. */
export interface Proposals {
  tasks(request: ProposeTasks, signal: AbortSignal): Promise<Proposal>
  /** Any other question to a reading agent. */
  ask<T>(request: AgentRequest, question: AgentQuestion<T>, signal: AbortSignal): Promise<AgentReply<T>>
  /** Markers of the agents that read now. */
  markers(): string[]
}

export interface ProposalsDeps {
  supervisor: SupervisorContext
  gates: AccountGates
  /** Throws if nothing may start now. */
  refuseWhenFull(): void
  gatesChanged(): Promise<void>
}

/** Reading agents are started like sessions: with the same settings, trust, policy, accounts and budgets. */
export function openProposals({ supervisor, gates, refuseWhenFull, gatesChanged }: ProposalsDeps): Proposals {
  const { store, clock, policy } = supervisor.deps
  const files = new WarmMarkers(supervisor.prepareDeps.paths.run)
  const reading = new Set<string>()
  const deps: AskAgentDeps = {
    prepare: request => prepareSession(request, supervisor),
    markers: {
      note(marker) {
        files.note(marker)
        reading.add(marker)
      },
      forget(marker) {
        files.forget(marker)
        reading.delete(marker)
      },
    },
    classify: async question => policy.classify(question),
    admits: account => gates.admits(account),
    answered: account => gates.reopen(account),
    async limited(account, limit) {
      await gates.close(account, limit)
      await gatesChanged()
    },
    async refuseSpent(spender, { budgets }: PreparedSession) {
      const use = findOverrun(await readSpendingTotals(spender, supervisor.deps), budgets)
      if (!use) return
      const remedy = `Raise it with: pcc config set budgets.${use.scope}.${use.measure} ${Math.ceil(use.limit * 2)}`
      throw new AppError('budget_spent', { reason: `Nothing may be asked: ${budgetWords(use)} is spent`, remedy })
    },
    spent: (spender, used) => bookAsked(spender, used, { store, clock }),
  }
  const openSignal = (signal: AbortSignal) => {
    refuseWhenClosed(supervisor)
    refuseWhenFull()
    return AbortSignal.any([signal, supervisor.closing])
  }
  // Imported on use: few daemons ever need it.
  return {
    markers: () => [...reading],
    async tasks(request, signal) {
      const { proposeTasks } = await import('./propose-tasks.ts')
      return proposeTasks(request, { ...deps, store, clock }, openSignal(signal))
    },
    async ask(request, question, signal) {
      const { askAgent } = await import('./ask-agent.ts')
      return askAgent(request, question, { deps, signal: openSignal(signal) })
    },
  }
}
