import { loadConfig } from '../../domain/config/load.ts'
import type { NotifySettings } from '../../human/notify/notice.ts'
import { setUpOf } from '../../human/notify/set-up.ts'
import { trustedFile, trustStatus } from '../../policy/trust.ts'
import { answerEscalation } from '../human/answer-escalation.ts'
import type { World } from '../world.ts'

interface TellPeople {
  env: Record<string, string | undefined>
  /** The event of this daemon's start. */
  since: number
  settings: NotifySettings
}

/** A change of settings is seen this soon; a thousand questions at once do not read them a thousand times. */
const FRESH_MS = 2_000

/** Tells people what happens until the daemon stops. Where no channel is set up nothing is loaded for it. Never throws. */
export async function tellPeople(world: World, { env, since, settings }: TellPeople): Promise<void> {
  const { store, log, stopping, terminals } = world
  try {
    const { channels, problems } = setUpOf(settings, env)
    if (!settings.enabled || channels.length + problems.length === 0) return
    const { startNotifier } = await import('../../human/notify/start.ts')
    await startNotifier({
      store,
      settings: settingsOf(world, env),
      env,
      since,
      log,
      signal: stopping,
      answer: async (number, said) => {
        await answerEscalation(number, { ...said, env: undefined }, world)
        log.info({ number, verdict: said.verdict, by: said.by }, 'decision answered')
      },
      ring: async text => {
        const called = terminals.attached().map(subject => {
          return { actor: 'daemon', subject, kind: 'person.called' as const, body: { text } }
        })
        await store.append(called)
      },
    })
  } catch (error) {
    if (!stopping.aborted) log.error({ error }, 'nobody is told what happens: notifications could not be started')
  }
}

/** The settings now, or a moment ago; a broken file leaves those that were read last. */
function settingsOf({ places, log }: World, env: TellPeople['env']): (project?: string) => Promise<NotifySettings> {
  const known = new Map<string, { at: number; settings: NotifySettings }>()
  return async (project = '') => {
    const found = known.get(project)
    if (found && Date.now() - found.at < FRESH_MS) return found.settings
    try {
      const trusted = project === '' ? undefined : trustedFile(await trustStatus(places, project))
      const named = project === '' ? {} : { project, trusted }
      const { config } = await loadConfig({ places, env, ...named })
      known.set(project, { at: Date.now(), settings: config.notifications })
      return config.notifications
    } catch (error) {
      const last = found ?? known.get('')
      if (!last) throw error
      log.warn({ project, error }, 'settings could not be read; notifications go by the last ones')
      return last.settings
    }
  }
}
