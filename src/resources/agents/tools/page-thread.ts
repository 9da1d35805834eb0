/** The thread in which pages become text. */
import { parentPort } from 'node:worker_threads'
import { textOfHtml } from './page-text.ts'

parentPort?.on('message', (html: string) => parentPort?.postMessage(textOfHtml(html)))
