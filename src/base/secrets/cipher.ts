import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scrypt } from 'node:crypto'

/** A text that only the holder of the key can read or change. */
export interface Sealed {
  nonce: string
  data: string
}

const SALT_BYTES = 16
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * The cost of one guess at a passphrase: as much as OWASP asks for, with a quarter of the memory of its first choice (32 MB),
 * because the daemon is small. It belongs to version 1 of the file; a file cannot name another cost.
 */
const COST = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }

/** What a key is derived from. The content of a key file is random, so guessing it need not be made slow. */
export type KeySource = 'file' | 'passphrase'

/** The key that a passphrase, or the content of a key file, stands for. */
export function deriveKey(from: KeySource, material: string, salt: string): Promise<Buffer> {
  const salted = Buffer.from(salt, 'base64')
  if (from === 'file')
    return Promise.resolve(Buffer.from(hkdfSync('sha256', material, salted, 'pcc secrets', KEY_BYTES)))
  return new Promise((resolve, reject) => {
    scrypt(material.normalize('NFKC'), salted, KEY_BYTES, COST, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

export function makeSalt(): string {
  return randomBytes(SALT_BYTES).toString('base64')
}

/** Encrypts a text. `purpose` is not stored: what was sealed for one purpose opens for no other, so entries cannot be swapped. */
export function seal(text: string, key: Buffer, purpose: string): Sealed {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(purpose))
  const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return { nonce: nonce.toString('base64'), data: data.toString('base64') }
}

/** The text; undefined if the key is another one, or a bit of it was changed. */
export function unseal({ nonce, data }: Sealed, key: Buffer, purpose: string): string | undefined {
  const bytes = Buffer.from(data, 'base64')
  const iv = Buffer.from(nonce, 'base64')
  if (bytes.length < TAG_BYTES || iv.length !== NONCE_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(purpose))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
