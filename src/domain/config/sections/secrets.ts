import { oneOf, type Setting, texts } from '../setting.ts'

/** Where secrets are kept (docs/secrets.md). */
export const SECRETS_SETTINGS = {
  'secrets.store': oneOf(['auto', 'keyring', 'file'], {
    standard: 'auto',
    about:
      'Where `pcc secrets set` puts a value: into the keyring of the system, into an encrypted file, or into the first of both that works',
    project: 'never',
  }),
  'secrets.key': oneOf(['file', 'passphrase'], {
    standard: 'file',
    about: 'What opens a new encrypted file: a key file beside it, or a passphrase that is in no file',
    project: 'never',
  }),
  'secrets.command': texts({
    standard: [],
    about:
      'A program that prints a secret which is not stored here, word by word: ["op", "read", "op://Private/{name}/key"]; no shell runs it',
    project: 'never',
  }),
} as const satisfies Record<string, Setting>
