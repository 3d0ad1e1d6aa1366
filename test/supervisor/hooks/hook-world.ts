import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { type AppPaths, appPathsFor } from '../../../src/base/app-paths.ts'
import { silentLog } from '../../../src/base/log.ts'
import {
  HOOK_SCHEMA_VERSION,
  type HookAnswer,
  type HookEventKind,
  type HookEventOf,
} from '../../../src/domain/hooks.ts'
import { readHookSettings } from '../../../src/supervisor/hooks/hook-settings.ts'
import { type AnswerEvent, answerHook, feature, type HookContext } from '../../../src/supervisor/hooks/router.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

export interface HookWorld {
  home: string
  project: string
  paths: AppPaths
  /** Writes a file of the project. */
  write(path: string, text: string): void
  /** Replaces the person's own settings. */
  configure(toml: string): void
  context(more?: Partial<HookContext>): HookContext
  event<Kind extends HookEventKind>(kind: Kind, more: Omit<HookEventOf<Kind>, BaseField>): HookEventOf<Kind>
  event<Kind extends HookEventKind>(kind: Kind, more: Partial<HookEventOf<Kind>>): HookEventOf<Kind>
}

type BaseField = 'schema_version' | 'vendor' | 'native' | 'session' | 'cwd' | 'kind'

/** A home with settings, and a git project in which an agent works that pcc did not start. */
export function openHookWorld(t: TestContext, { settings = '', files = {} }: HookWorldOptions = {}): HookWorld {
  const home = realpathSync(tempDir(t, 'pcc-home-'))
  const project = realpathSync(gitProject(t, { 'README.md': '# sample\n', ...files }))
  const env = bareEnv(home)
  const paths = appPathsFor({ env })
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  put(paths.configFile, settings)
  return {
    ...{ home, project, paths },
    write: (path, text) => put(join(project, path), text),
    configure: toml => put(paths.configFile, toml),
    context: more => {
      const context: HookContext = {
        ...{ caller: { id: 'test-hook', ppid: 0, folder: project, env }, paths, env, project, log: silentLog },
        signal: new AbortController().signal,
        settings: () => readHookSettings(context),
        ...more,
      }
      return context
    },
    event: (kind: HookEventKind, more: object) =>
      ({
        schema_version: HOOK_SCHEMA_VERSION,
        vendor: 'claude',
        native: kind,
        session: 'c-1',
        cwd: project,
        kind,
        ...more,
      }) as never,
  }
}

interface HookWorldOptions {
  /** The person's config.toml. */
  settings?: string
  files?: Record<string, string>
}

/** The answer of one feature. */
export function answerBy<Kind extends HookEventKind>(
  answer: AnswerEvent<Kind>,
  event: HookEventOf<Kind>,
  context: HookContext,
): Promise<HookAnswer> {
  return answerHook(event, [feature('tried', [event.kind], answer)], context)
}
