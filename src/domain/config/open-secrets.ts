import { Secrets, type SecretsOptions } from '../../base/secrets/secrets.ts'
import { type LoadOptions, loadConfig } from './load.ts'

/** The secrets of an installation, by the person's settings as they are at each read. */
export function openSecrets({
  paths,
  env,
  ...callbacks
}: Pick<LoadOptions, 'paths' | 'env'> & Pick<SecretsOptions, 'seen' | 'failed'>): Secrets {
  return new Secrets({
    paths,
    env,
    settings: async () => (await loadConfig({ paths, env })).config.secrets,
    ...callbacks,
  })
}
